import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World } from "../support/world.ts";
import { arrive, consoleOf, goTo, send, signedIn } from "./support.ts";

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const widths = [360, 900, 1400];

describe.skipIf(chromiumPath === undefined)("Each screen of the console", () => {
  let browser: Browser;
  let world: World;
  /** Its address, and what is there as soon as it has all that it shows. */
  const screens: [address: string, sign: string][] = [];
  beforeAll(async () => {
    [browser, world] = await Promise.all([
      startBrowser(),
      startWorld({ env: { SENDS_PER_MINUTE: "0", ALLOW_PRIVATE_WEBHOOKS: "1" } }),
    ]);
    const ada = await world.inbox("ada");
    const thread = await arrive(world, ada, { subject: "Where is it?", html: "<h1>Hello</h1><p>Where?</p>" });
    await arrive(world, ada, { subject: "A rather long subject, as people write them who have time".repeat(3) });
    const long = await world.inbox("customer-support-department-11");
    const from = `${"jane.".repeat(8)}doe@a-rather-long-name-of-a-company.example.com`;
    const longThread = await arrive(world, long, { subject: "Donaudampfschifffahrtsgesellschaft".repeat(5), from });
    const longMessage = await send(world, long, { to: from, subject: "Kapitän".repeat(20), body: "word".repeat(100) });
    const message = await send(world, ada, { to: "joe@example.com", subject: "Hi", body: "Hello" });
    const hook = { url: "http://127.0.0.1:65000/hook", eventTypes: ["*"] };
    const { status, body: endpoint } = await world.api("/v1/webhooks", { method: "POST", body: hook });
    expect([status, endpoint.id]).toEqual([201, expect.any(String)]);
    await world.api("/v1/suppressions", { method: "POST", body: { address: "gone@example.com" } });
    const { body: log } = await world.api("/v1/events?types=*");
    screens.push(
      ["", ".last-mail a"],
      ["inboxes", ".inbox-rows .row"],
      [`inboxes/${ada.id}`, "[data-thread]"],
      [`inboxes/${ada.id}?view=search&q=subject`, ".is-found"],
      [`inboxes/${ada.id}?view=search&q=none`, ".empty"],
      [`threads/${thread}`, ".paper iframe"],
      [`compose?inbox=${ada.id}`, ".compose"],
      ["outbox", ".page .empty, .rows .row"],
      ["events", ".event-rows .row"],
      [`events/${log.data[0].event_id}`, ".attempts"],
      ["webhooks", ".endpoint"],
      [`webhooks/${endpoint.id}`, ".facts"],
      ["suppressions", ".rows .row"],
      [`messages/${message}`, ".step"],
      [`inboxes/${long.id}`, "[data-thread]"],
      [`inboxes/${long.id}?view=unread`, "[data-thread]"],
      [`threads/${longThread}`, ".paper, .message-text"],
      [`compose?inbox=${long.id}`, ".compose"],
      [`messages/${longMessage}`, ".step"],
      ["no/such/place", ".empty"],
    );
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("fits the width, and has no fault of access in either light", async () => {
    const { page, faults } = await signedIn(browser, world);
    await page.evaluate(axe);
    const found: unknown[] = [];
    for (const [address, sign] of screens) {
      await goTo(page, world, address);
      await page.locator(sign).first().waitFor({ state: "attached" });
      for (const width of widths) {
        await page.setViewportSize({ width, height: 800 });
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          found.push(...(await faultsOf(page)).map((fault) => [address, width, colorScheme, fault]));
        }
      }
    }
    expect(found).toEqual([]);
    expect(faults.filter((fault) => !/40[14]/.test(fault))).toEqual([]);
  }, 120_000);

  test("of who is not signed in is the door, without a fault", async () => {
    const { page } = await browser.open(consoleOf(world, "inboxes"), { width: 360 });
    await page.locator("#key").waitFor();
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.evaluate(axe);
    expect(await faultsOf(page)).toEqual([]);
    await page.fill("#key", "ibx_wrong");
    await page.press("#key", "Enter");
    await page.getByText("This key is not known").waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });

  test("is light or dark as the system, or as one wants it, also after a reload", async () => {
    const { page } = await signedIn(browser, world, "", { colorScheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByRole("button", { name: "Theme: System" }).click();
    const light = await background();
    await page.reload();
    await page.getByRole("button", { name: "Theme: Light" }).waitFor();
    expect(await background()).toBe(light);
    expect(light).not.toBe(dark);
  });
});

/** What axe finds by WCAG 2.2 AA, and what is wider than the page, or stands out of a box that would cut it off unseen. */
async function faultsOf(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(where: Document, how: object): Promise<AxeResult> } };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const { violations } = await axe.run(document, { runOnly: tags, iframes: false, resultTypes: ["violations"] });
    const tooWide = document.documentElement.scrollWidth - innerWidth;

    /** What scrolls, and what ends in dots, is cut off in sight. */
    const isCutInSight = (element: Element | null): boolean => {
      if (element === null) return false;
      const { overflowX, textOverflow } = getComputedStyle(element);
      if (overflowX === "auto" || overflowX === "scroll" || textOverflow === "ellipsis")
        return element.tagName !== "MAIN";
      return isCutInSight(element.parentElement);
    };
    const standsOut = [...document.querySelectorAll("main *:not(svg *, .unseen)")].filter((element) => {
      const holder = element.parentElement;
      const box = element.getBoundingClientRect();
      const around = holder?.getBoundingClientRect();
      if (around === undefined || box.width === 0 || isCutInSight(holder)) return false;
      const { marginLeft, marginRight } = getComputedStyle(element);
      const beyond = (margin: string) => Math.min(0, Number.parseFloat(margin)) - 1;
      return box.left < around.left + beyond(marginLeft) || box.right > around.right - beyond(marginRight);
    });
    return [
      ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`),
      ...(tooWide > 0 ? [`too wide by ${tooWide}`] : []),
      ...standsOut.map((element) => `stands out: ${element.outerHTML.slice(0, 100)}`),
    ];
  });
}

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}
