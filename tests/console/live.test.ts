import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("While mail comes in", () => {
  let browser: Browser;
  let world: World;
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } })]);
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const arriveInTurn = async (inbox: WorldInbox, subjects: readonly string[]) => {
    for (const subject of subjects) await arrive(world, inbox, { subject });
  };

  test("the list shows the newest, though it came while the one before was asked for", async () => {
    const inbox = await world.inbox("close");
    await arriveInTurn(inbox, ["Zero"]);
    const { page } = await signedIn(browser, world, `inboxes/${inbox.id}`);
    await page.locator(".connection.is-stream").waitFor();
    await page.locator("[data-thread]").waitFor();
    await page.clock.install();
    const held = await holdAnswers(page, "/threads");
    await arriveInTurn(inbox, ["One"]);
    await held.isAnswered();
    await arriveInTurn(inbox, ["Two"]);
    await page.locator(".fresh-pill", { hasText: "2 new" }).waitFor();
    // The page has calmed down, and would ask.
    await page.clock.fastForward(1_000);
    await held.release();
    await page.locator("[data-thread]", { hasText: "Two" }).waitFor();
    expect(await page.locator(".thread-subject").allTextContents()).toEqual(["Two", "One", "Zero"]);
    await page.context().close();
  });

  test("a burst asks for the list a few times, not once for each mail", async () => {
    const inbox = await world.inbox("burst");
    await arriveInTurn(inbox, ["Before"]);
    const { page, requested } = await signedIn(browser, world, `inboxes/${inbox.id}`);
    await page.locator(".connection.is-stream").waitFor();
    await page.locator("[data-thread]").waitFor();
    const askedBefore = requested.filter(({ pathname }) => pathname.endsWith("/threads")).length;
    const subjects = Array.from({ length: 30 }, (_, index) => `Mail ${index}`);
    const startedAt = performance.now();
    await Promise.all(subjects.map((subject) => arrive(world, inbox, { subject })));
    await page.locator(".fresh-pill", { hasText: "30 new" }).waitFor();
    await page.waitForFunction(() => document.querySelector(".virtual li")?.ariaSetSize === "31");
    const rounds = Math.ceil((performance.now() - startedAt) / 100);
    const asked = requested.filter(({ pathname }) => pathname.endsWith("/threads")).length - askedBefore;
    expect(asked).toBeLessThanOrEqual(rounds + 1);
    await page.context().close();
  });

  test("without a pause, the screens that are asked for anew show it all the same", async () => {
    const inbox = await world.inbox("steady");
    const { page } = await signedIn(browser, world, "events");
    await page.locator(".connection.is-stream").waitFor();
    const end = new AbortController();
    const steady = (async () => {
      for (let index = 0; !end.signal.aborted; index += 1) {
        await arrive(world, inbox, { subject: `Steady ${index}` });
      }
    })();
    await page.locator(".event-rows", { hasText: "Steady 5" }).waitFor();
    end.abort();
    await steady;
    await page.context().close();
  });

  test("behind a proxy that keeps the stream back, it is shown within seconds of when it came, and none is missed", async () => {
    const inbox = await world.inbox("behind");
    await arriveInTurn(inbox, ["Before"]);
    const { page, requested } = await signedIn(browser, world);
    await page.route("**/v1/events/stream*", () => undefined);
    const isSearched = page.waitForResponse((response) => response.url().includes("webhook.disabled"));
    await page.goto(consoleOf(world, `inboxes/${inbox.id}`).href);
    await page.locator("[data-thread]").waitFor();
    await isSearched;
    const streams = () => requested.filter(({ pathname }) => pathname.endsWith("/stream")).length;
    const before = streams();
    await arriveInTurn(inbox, ["While one waits for the stream"]);
    await page.locator("[data-thread]", { hasText: "While one waits" }).waitFor();
    await arriveInTurn(inbox, ["While the log is asked"]);
    await page.locator("[data-thread]", { hasText: "While the log" }).waitFor();
    await page.locator(".connection.is-log").waitFor();
    expect(streams()).toBe(before);
    await page.context().close();
  }, 60_000);
});

/** What the service answers there from now on comes to the page when it is released. */
async function holdAnswers(page: Page, ending: string) {
  await page.evaluate((path) => {
    const ask = globalThis.fetch;
    const { promise, resolve } = Promise.withResolvers<void>();
    const hold = { isAnswered: false, release: resolve };
    globalThis.fetch = Object.assign(async (...asked: Parameters<typeof fetch>) => {
      const response = await ask(...asked);
      if (!new URL(String(asked[0])).pathname.endsWith(path)) return response;
      hold.isAnswered = true;
      await promise;
      return response;
    }, ask);
    Object.assign(globalThis, { hold });
  }, ending);
  return {
    isAnswered: () => page.waitForFunction(() => (globalThis as unknown as Held).hold.isAnswered),
    release: () => page.evaluate(() => (globalThis as unknown as Held).hold.release()),
  };
}

interface Held {
  hold: { isAnswered: boolean; release(): void };
}
