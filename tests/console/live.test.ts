import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("While mail comes in", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });

  const arriveInOrder = async (inbox: WorldInbox, subjects: readonly string[]) => {
    for (const subject of subjects) await arrive(setup.world, inbox, { subject });
  };

  test("the list shows a mail that arrived while the list was loading", async () => {
    const inbox = await setup.world.inbox("close");
    await arriveInOrder(inbox, ["Zero"]);
    const { page } = await signedIn(setup, `inboxes/${inbox.id}`);
    await page.locator(".connection.is-stream").waitFor();
    await page.locator("[data-thread]").waitFor();
    await page.clock.install();
    const held = await holdAnswers(page, "/threads");
    await arriveInOrder(inbox, ["One"]);
    await held.isAnswered();
    await arriveInOrder(inbox, ["Two"]);
    // The page would now load the list again.
    await page.clock.runFor(1_000);
    await held.release();
    await page.locator("[data-thread]", { hasText: "Two" }).waitFor();
    expect(await page.locator(".thread-subject").allTextContents()).toEqual(["Two", "One", "Zero"]);
    await page.context().close();
  });

  test("a burst of mail loads the list at most ten times a second", async () => {
    const inbox = await setup.world.inbox("burst");
    await arriveInOrder(inbox, ["Before"]);
    const { page, requested } = await signedIn(setup, `inboxes/${inbox.id}`);
    await page.locator(".connection.is-stream").waitFor();
    await page.locator("[data-thread]").waitFor();
    const askedBefore = requested.filter(({ pathname }) => pathname.endsWith("/threads")).length;
    const subjects = Array.from({ length: 30 }, (_, index) => `Mail ${index}`);
    const startedAt = performance.now();
    await Promise.all(subjects.map((subject) => arrive(setup.world, inbox, { subject })));
    await page.waitForFunction(() => document.querySelector(".virtual li")?.ariaSetSize === "31");
    const rounds = Math.ceil((performance.now() - startedAt) / 100);
    const asked = requested.filter(({ pathname }) => pathname.endsWith("/threads")).length - askedBefore;
    expect(asked).toBeLessThanOrEqual(rounds + 1);
    await page.context().close();
  });

  test("the screen of events shows new mail that arrives without a pause", async () => {
    const inbox = await setup.world.inbox("steady");
    const { page } = await signedIn(setup, "events");
    await page.locator(".connection.is-stream").waitFor();
    const end = new AbortController();
    const steady = (async () => {
      for (let index = 0; !end.signal.aborted; index += 1) {
        await arrive(setup.world, inbox, { subject: `Steady ${index}` });
      }
    })();
    await page.locator(".event-rows", { hasText: "Steady 5" }).waitFor();
    end.abort();
    await steady;
    await page.context().close();
  });

  test("it is shown within seconds behind a proxy that blocks the stream, and none is missed", async () => {
    const inbox = await setup.world.inbox("behind");
    await arriveInOrder(inbox, ["Before"]);
    const { page, requested } = await signedIn(setup);
    await page.route("**/v1/events/stream*", () => undefined);
    const isSearched = page.waitForResponse((response) => response.url().includes("types=*&order=desc"));
    await page.goto(consoleOf(setup.world, `inboxes/${inbox.id}`).href);
    await page.locator("[data-thread]").waitFor();
    await isSearched;
    const streams = () => requested.filter(({ pathname }) => pathname.endsWith("/stream")).length;
    const before = streams();
    await arriveInOrder(inbox, ["While one waits for the stream"]);
    await page.locator("[data-thread]", { hasText: "While one waits" }).waitFor();
    await arriveInOrder(inbox, ["While the log is asked"]);
    await page.locator("[data-thread]", { hasText: "While the log" }).waitFor();
    await page.locator(".connection.is-log").waitFor();
    expect(streams()).toBe(before);
    await page.context().close();
  }, 60_000);
});

/** Holds responses for paths with this ending until `release` is called. */
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
