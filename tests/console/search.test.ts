import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The search of the console", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  let bob: WorldInbox;
  beforeAll(async () => {
    [ada, bob] = [await setup.world.inbox("ada"), await setup.world.inbox("bob")];
    for (const [inbox, subject] of [
      [ada, "Invoice of May"],
      [bob, "Invoice of June"],
      [ada, "Lunch"],
    ] as const) {
      await arrive(setup.world, inbox, { subject, text: `${"words ".repeat(60)} and the Invoice` });
      setup.world.clock.pass(1_000);
    }
    await arrive(setup.world, bob, { subject: "Invoice of Eve", from: "eve@example.net", name: "Eve" });
  }, 60_000);

  const search = async (page: Page, text: string) => {
    await page.fill(".list-search input", text);
    await page.press(".list-search input", "Enter");
    await page.waitForURL((url) => url.searchParams.get("q") === text);
  };
  const found = (page: Page) => page.locator(".is-found .thread-subject").allTextContents();
  const marks = (page: Page, part: string) => page.locator(`.is-found ${part} mark`).allTextContents();

  test("takes filters as a person types them, in one inbox, and marks the hits", async () => {
    const { page, faults } = await signedIn(setup, `inboxes/${ada.id}`);
    await page.locator("[data-thread]").first().waitFor();
    await search(page, 'subject:invoice from:"jane doe"');
    await page.locator(".is-found").first().waitFor();
    expect(await found(page)).toEqual(["Invoice of May"]);
    expect([await marks(page, ".thread-who"), await marks(page, ".thread-subject")]).toEqual([
      ["Jane Doe"],
      ["Invoice"],
    ]);
    await search(page, "invoice is:unread");
    await page.locator(".is-found", { hasText: "Lunch" }).waitFor();
    expect(await found(page)).toEqual(["Lunch", "Invoice of May"]);
    // The hit is shown although it is far behind the beginning of the text.
    expect(await marks(page, ".thread-preview")).toEqual(["Invoice", "Invoice"]);
    await search(page, "is:starred");
    await page.getByText('must have "unread" behind "is:"').waitFor();
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
    await page.context().close();
  });

  test("finds mail of all inboxes, and keeps its results while a thread of another inbox opens", async () => {
    const { page } = await signedIn(setup, `inboxes/${ada.id}`);
    await page.locator("[data-thread]").first().waitFor();
    await page.selectOption(".list-search select", { label: "All inboxes" });
    await search(page, "subject:invoice");
    await page.locator(".is-found", { hasText: "Invoice of Eve" }).waitFor();
    const all = ["Invoice of Eve", "Invoice of June", "Invoice of May"];
    expect(await found(page)).toEqual(all);
    expect(await page.locator(".thread-inbox").allTextContents()).toEqual(
      [bob, bob, ada].map(({ address }) => address),
    );
    await page.locator(".is-found", { hasText: "Invoice of June" }).click();
    await page.locator(".conversation-title h2", { hasText: "Invoice of June" }).waitFor();
    expect(await found(page)).toEqual(all);
    await page.reload();
    await page.goBack();
    await page.locator(".is-found", { hasText: "Invoice of Eve" }).waitFor();
    expect(await found(page)).toEqual(all);
    await page.selectOption(".list-search select", { label: "This inbox" });
    await page.locator(".is-found", { hasText: "Invoice of Eve" }).waitFor({ state: "detached" });
    await page.locator(".is-found").first().waitFor();
    expect(await found(page)).toEqual(["Invoice of May"]);
    await page.context().close();
  });

  test("says that it does not look into texts that are not indexed", async () => {
    const carl = await setup.world.inbox("carl");
    await setup.world.api(`/v1/inboxes/${carl.id}`, { method: "PATCH", body: { searchWords: "head" } });
    await arrive(setup.world, carl, { subject: "Minutes", text: "Forty two" });
    const { page } = await signedIn(setup, `inboxes/${carl.id}`);
    await page.locator("[data-thread]").first().waitFor();
    await search(page, "forty");
    await page.getByText("found by its subject and addresses alone").waitFor();
    await search(page, "subject:minutes");
    await page.locator(".is-found", { hasText: "Minutes" }).waitFor();
    expect(await page.locator(".searched-note").count()).toBe(0);
    await page.context().close();
  });
});
