import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WatchedPage } from "../support/browser.ts";
import { untilAnswered } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, goTo, send, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screens of the account", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    const { world } = setup;
    ada = await world.inbox("ada");
    const gone = await world.inbox("gone");
    await arrive(world, gone, { subject: "To an inbox that is deleted later" });
    for (const subject of ["First", "Second"]) await arrive(world, ada, { subject });
    await send(world, ada, { to: "joe@example.com", subject: "Hi", body: "Hello" });
    await world.api(`/v1/inboxes/${gone.id}`, { method: "DELETE" });
    await untilAnswered(async () => {
      const { body } = await world.api("/v1/usage");
      return body.totals.received === 3 && body.totals.sent === 1 ? body : undefined;
    });
    watched = await signedIn(setup, "suppressions");
    page = watched.page;
  }, 60_000);
  afterAll(() => {
    expect(watched?.faults.filter((fault) => !/40[14]/.test(fault))).toEqual([]);
  });

  test("show usage by day and by inbox, also of a deleted one, for the days that are chosen", async () => {
    await goTo(page, "usage");
    const total = (name: string) => page.locator(".totals li", { hasText: name }).locator(".figure").textContent();
    await page.locator(".section .row").nth(1).waitFor();
    expect(await page.locator(".section .row .row-link").allTextContents()).toEqual([
      ada.address,
      expect.stringMatching(/^Deleted inbox/),
    ]);
    expect(await Promise.all(["Received", "Sent", "Inboxes created"].map(total))).toEqual(["3", "1", "2"]);
    expect(await page.locator(".days-chart tbody tr").count()).toBe(30);
    await page.fill("#from", "2025-03-21");
    await page.fill("#to", "2026-03-20");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("No mail in these days").waitFor();
    expect(page.url()).toEndWith("/console/usage?from=2025-03-21&to=2026-03-20");
    expect(await total("Received")).toBe("0");
    expect(await page.locator(".days-chart tbody tr").count()).toBe(53);
  });

  test("show the audit, with the entries of one action, one actor or one thing", async () => {
    await goTo(page, "audit");
    const entries = page.locator(".audit-entry");
    const shown = async (count: number) => {
      await page.waitForFunction((rows) => document.querySelectorAll(".audit-entry").length === rows, count);
      return entries.locator(".strong").allTextContents();
    };
    expect(await shown(5)).toEqual([
      "Signed in to the console",
      "Deleted an inbox",
      "Created an inbox",
      "Created an inbox",
      "Created the account",
    ]);
    await page.getByLabel("Action").selectOption({ label: "Created an inbox" });
    await shown(2);
    await entries.last().locator("summary").click();
    expect(await entries.last().textContent()).toMatch(/API_KEY · username ada.*from 127\.0\.0\.1/);
    await entries.last().getByRole("button", { name: "all of its entries" }).click();
    expect(await shown(1)).toEqual(["Created an inbox"]);
    expect(await page.getByLabel("Id of what was changed").inputValue()).toBe(ada.id);
    await page.getByRole("button", { name: "Show all" }).click();
    await shown(5);
    await page.getByLabel("Actor").selectOption("service");
    expect(await shown(1)).toEqual(["Created the account"]);
  });
});
