import { beforeAll, expect, test } from "bun:test";
import { send } from "../support/sends.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The list of threads", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    const threadId = await arrive(setup.world, ada, { subject: "Your order" });
    await send(setup.world, ada.id, { to: ["jane@example.com", "bob@example.com"], threadId });
    await arrive(setup.world, ada, {
      subject: "From right to left",
      from: "eve@example.com",
      name: "\u202eeve\u2066 Eve",
    });
    await send(setup.world, ada.id, { to: ada.address, subject: "To myself" });
  }, 60_000);

  test("shows names instead of addresses, with the addresses as a title", async () => {
    const { page } = await signedIn(setup, `inboxes/${ada.id}`);
    const who = (subject: string) => page.locator("[data-thread]", { hasText: subject }).locator(".thread-who");
    await who("Your order").waitFor();
    expect(await who("Your order").textContent()).toStartWith("Jane Doe, bob@example.com");
    expect(await who("Your order").getAttribute("title")).toBe("jane@example.com, bob@example.com");
    expect(await who("To myself").getAttribute("title")).toBe(ada.address);
    // The letters that turn a text around stay in the name.
    expect(await who("From right to left").locator("bdi").count()).toBe(1);
    await page.context().close();
  });

  test("has rows and controls of at least 44 pixels for a finger", async () => {
    const { page } = await signedIn(setup, `inboxes/${ada.id}`, { width: 390, hasTouch: true });
    await page.locator("[data-thread]").first().waitFor();
    const sizes = await page.evaluate(() =>
      Array.from(document.querySelectorAll<HTMLElement>(".threads :is(a, button, input, select, label)"))
        // The box of a row is as large as its label.
        .filter(
          (element) =>
            element.offsetParent !== null && (element.closest("label") !== null) === (element.tagName === "LABEL"),
        )
        .map((element) => [element.className || element.tagName, element.getBoundingClientRect().height] as const),
    );
    expect(sizes.length).toBeGreaterThan(8);
    expect(sizes.filter(([, height]) => height < 44)).toEqual([]);
    await page.context().close();
  });

  test.each([
    ["en-US", /^(?:Mar 21|Sat)$/, /^Saturday, March 21, 2026/],
    ["de-DE", /^(?:21\. März|Sa)$/, /^Samstag, 21\. März 2026/],
  ])("writes dates as its reader in %s does", async (locale, short, whole) => {
    const { page } = await signedIn(setup, `inboxes/${ada.id}`, { locale });
    const time = page.locator("[data-thread] time").first();
    await time.waitFor();
    expect(await time.textContent()).toMatch(short);
    expect(await time.getAttribute("title")).toMatch(whole);
    await page.context().close();
  });
});
