import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, fillLog, setUpConsole, signedIn } from "./support.ts";

/** Delays each answer of the API by 400 ms, and refuses one in ten. */
async function slowDown(page: Page): Promise<void> {
  let asked = 0;
  await page.route("**/v1/**", async (route) => {
    if (route.request().url().includes("/stream")) return route.continue();
    asked += 1;
    const isRefused = asked % 10 === 5;
    await new Promise((resolve) => setTimeout(resolve, 400));
    if (isRefused) await route.fulfill({ status: 503, json: { code: "service_unavailable" } });
    else await route.continue();
  });
}

/** Notes in each frame whether the screen has lost what it showed; `fewest` is the smallest part of its text so far. */
async function watch(page: Page): Promise<{ lost(): Promise<{ fewest: number; signs: string[] }> }> {
  await page.evaluate(() => {
    const main = () => document.querySelector("main")?.textContent?.length ?? 0;
    const full = main();
    const signs = [".placeholder", ".empty"].filter((sign) => document.querySelector(`main ${sign}`) === null);
    const seen = { fewest: 1, signs: [] as string[], isOver: false };
    Object.assign(globalThis, { seen });
    const look = () => {
      if (seen.isOver) return;
      seen.fewest = Math.min(seen.fewest, main() / full);
      seen.signs.push(...signs.filter((sign) => document.querySelector(`main ${sign}`) !== null));
      requestAnimationFrame(look);
    };
    look();
  });
  return {
    lost: () =>
      page.evaluate(() => {
        const { seen } = globalThis as unknown as { seen: { fewest: number; signs: string[]; isOver: boolean } };
        seen.isOver = true;
        return { fewest: seen.fewest, signs: seen.signs };
      }),
  };
}

describeInBrowser("With a service that takes 400 ms for an answer and refuses one request in ten", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
  let ada: WorldInbox;
  let endpointId: string;
  let threadId: string;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    for (let number = 2; number <= 12; number += 1) await setup.world.inbox(`inbox-${number}`);
    await fillLog(setup.world, ada, 2_500);
    const body = { url: "http://127.0.0.1:65000/hook", eventTypes: ["*"] };
    endpointId = (await setup.world.api("/v1/webhooks", { method: "POST", body })).body.id;
    for (let number = 1; number <= 8; number += 1) await arrive(setup.world, ada, { subject: `Number ${number}` });
    threadId = await arrive(setup.world, ada, { subject: "The last", head: ["Message-ID: <last@example.com>"] });
  }, 60_000);

  const screens: [name: string, path: () => string, content: string][] = [
    ["overview", () => "", "The last"],
    ["list of inboxes", () => "inboxes", "inbox-12@inbox.localhost"],
    ["list of an inbox", () => `inboxes/${ada.id}`, "The last"],
    ["conversation", () => `threads/${threadId}`, "The last"],
    ["outbox", () => "outbox", "connection refused"],
    ["list of webhooks", () => "webhooks", "connection refused"],
    ["webhook", () => `webhooks/${endpointId}`, "The last"],
    ["events", () => "events", "The last"],
  ];

  test.each(screens)(
    "the %s shows what it had while it loads it again",
    async (_, path, content) => {
      const { page } = await signedIn(setup, "no/such/place");
      await slowDown(page);
      await page.goto(consoleOf(setup.world, path()).href);
      await page.locator("main").getByText(content).first().waitFor();
      await page.locator(".connection.is-stream").waitFor();
      await page.locator("main .placeholder").waitFor({ state: "detached" });
      const watched = await watch(page);
      const isLoaded = page.waitForResponse((response) => response.url().includes("/v1/") && response.ok());
      await arrive(setup.world, ada, { subject: "Re: The last", head: ["References: <last@example.com>"] });
      await (await isLoaded).finished();
      // Its next frame has what was loaded.
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const { fewest, signs } = await watched.lost();
      expect(signs).toEqual([]);
      expect(fewest).toBeGreaterThan(0.8);
      await page.context().close();
    },
    60_000,
  );

  test("the list stays beside a thread that opens, and after the way back", async () => {
    const { page } = await signedIn(setup, "no/such/place");
    await slowDown(page);
    await page.goto(consoleOf(setup.world, `inboxes/${ada.id}`).href);
    await page.getByText("Number 8").waitFor();
    const watched = await watch(page);
    await page.getByText("Number 8").click();
    await page.locator(".conversation .message-head").first().waitFor();
    await page.goBack();
    await page.locator(".conversation").waitFor({ state: "detached" });
    await page.getByText("Number 8").waitFor();
    // The pane beside the list may have a placeholder until the thread is there.
    expect((await watched.lost()).fewest).toBeGreaterThan(0.8);
    await page.context().close();
  }, 60_000);
});
