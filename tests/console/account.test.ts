import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Answer } from "dns-packet";
import type { Page } from "playwright-core";
import type { WatchedPage } from "../support/browser.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { untilAnswered } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, goTo, send, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screens of the account", () => {
  const published: Answer[] = [];
  let dns: ScriptedDns;
  const setup = setUpConsole(async () => {
    dns = await scriptedDns((question) => zone(published)(question));
    return { env: { DNS_SERVERS: `127.0.0.1:${dns.port}` } };
  });
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
  });
  afterAll(async () => {
    await dns?.close();
    expect(watched?.faults.filter((fault) => !/4(0[149]|22)/.test(fault))).toEqual([]);
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
    const entries = page.locator(".row-fold");
    const shown = async (count: number) => {
      await page.waitForFunction((rows) => document.querySelectorAll(".row-fold").length === rows, count);
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

  test("add a domain, show its records until they are valid, make an inbox at it, and say why it cannot be removed", async () => {
    await goTo(page, "domains");
    await page.fill("#domain", "printer.local");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.locator("#domain-fault:not(:empty)").waitFor();
    await page.fill("#domain", "Shop.test");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("heading", { name: "shop.test" }).waitFor();
    const cards = page.locator(".dns-record");
    await cards.nth(3).waitFor();
    const { body } = await setup.world.api("/v1/domains");
    const [{ id, records }] = body.data;
    expect(await cards.first().locator(".copied code").allTextContents()).toEqual([
      records[0].host ?? records[0].name,
      records[0].value,
    ]);
    await page.getByRole("button", { name: `Copy the priority of ${records[1].name}` }).waitFor();

    for (const { type, name, value, priority } of records) {
      const data = type === "MX" ? { preference: priority, exchange: value } : value;
      published.push({ name, type, ttl: 0, data: type === "TXT" ? value.match(/.{1,255}/g) : data } as Answer);
    }
    published.push({ name: "shop.test", type: "NS", ttl: 0, data: "ns.shop.test" });
    await page.getByRole("button", { name: "Verify now" }).click();
    await page.getByText("4 of 4 records valid").waitFor();
    await page.locator(".about", { hasText: "verified" }).waitFor();
    const zoneFile = await page.getByRole("link", { name: "Zone file" }).getAttribute("href");
    expect(await page.evaluate(async (path) => (await fetch(path ?? "")).text(), zoneFile)).toContain("IN TXT");

    await page.getByRole("button", { name: "Rotate key" }).click();
    await page.getByRole("button", { name: "Make key" }).click();
    await cards.nth(4).waitFor();

    await goTo(page, "inboxes");
    await page.getByLabel("Domain").selectOption("shop.test");
    await page.fill("#username", "ada");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByText("ada@shop.test is ready for mail").waitFor();
    await goTo(page, "inboxes?domain=shop.test");
    await page.getByText("1 address at shop.test").waitFor();
    await goTo(page, `domains/${id}`);
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Remove domain" }).click();
    await page.locator(".notice.is-bad", { hasText: "(1)" }).waitFor();
  });
});
