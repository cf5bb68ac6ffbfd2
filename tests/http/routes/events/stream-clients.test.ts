import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Browser, chromiumPath, startBrowser } from "../../../support/browser.ts";
import { openStream, type StreamClient } from "../../../support/event-stream.ts";
import { pausedStream } from "../../../support/paused-stream.ts";
import { until } from "../../../support/until.ts";
import { wholeLog } from "../../../support/whole-log.ts";
import { startWorld, type World } from "../../../support/world.ts";

/** Of a service that keeps its port over a restart, as an operator's does. */
async function worldWithPort(env: Record<string, string> = {}): Promise<World> {
  const probe = Bun.serve({ port: 0, fetch: () => new Response() });
  const port = String(probe.port);
  await probe.stop(true);
  return startWorld({ env: { PORT: port, ...env } });
}

const mail = (subject: string, text = "Hello") => `From: jane@example.com\r\nSubject: ${subject}\r\n\r\n${text}\r\n`;

describe.skipIf(chromiumPath === undefined)("A page in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser[Symbol.asyncDispose]());

  test("of another origin, with a token of one inbox, sees that inbox alone, and goes on by itself over a restart", async () => {
    const page = Bun.serve({
      port: 0,
      fetch: () => new Response("<title>A page</title>", { headers: { "content-type": "text/html" } }),
    });
    await using world = await worldWithPort({ CORS_ORIGINS: page.url.origin });
    const [ada, bob] = [await world.inbox("ada"), await world.inbox("bob")];
    const { token } = (await world.api("/v1/tokens", { method: "POST", body: { inboxId: ada.id } })).body;
    const { page: tab } = await browser.open(page.url);
    const address = new URL(`/v1/events/stream?types=*&after=start&token=${token}`, world.service.apiUrl).href;
    await tab.evaluate((url) => {
      const heard: string[] = [];
      const stream = new EventSource(url);
      for (const type of ["inbox.created", "message.received"]) {
        stream.addEventListener(type, ({ data }) => heard.push(JSON.parse(data).message?.subject ?? type));
      }
      Object.assign(globalThis, { heard });
    }, address);
    const heard = (count: number) =>
      tab
        .waitForFunction((least) => (globalThis as unknown as { heard: string[] }).heard.length >= least, count)
        .then(() => tab.evaluate(() => (globalThis as unknown as { heard: string[] }).heard));

    await world.deliver(mail("one"), ada.address);
    await world.deliver(mail("not for it"), bob.address);
    expect(await heard(2)).toEqual(["inbox.created", "one"]);
    await world.restart();
    await world.deliver(mail("two"), ada.address);
    expect(await heard(3)).toEqual(["inbox.created", "one", "two"]);
    await page.stop(true);
  }, 120_000);
});

describe("Clients that take little or nothing", () => {
  test("hold nobody up, and get the whole log in order when they read on", async () => {
    await using world = await startWorld();
    const inbox = await world.inbox("ada");
    // More than the kernel keeps for a connection, some of it in events that are larger than what may lie unsent.
    const texts = Array.from({ length: 60 }, (_, index) =>
      `${"long line ".repeat(20)}\r\n`.repeat(index % 10 === 0 ? 2000 : 500),
    );
    const url = new URL("/v1/events/stream?types=*&after=start", world.service.apiUrl);
    const slow = await pausedStream(url, world.apiKey);
    const brisk = await openStream(url, { authorization: `Bearer ${world.apiKey}` });
    for (const [index, text] of texts.entries()) {
      expect(await world.deliver(mail(`mail ${index}`, text), inbox.address)).toStartWith("250");
    }
    const all = await wholeLog(world);
    expect(await brisk.untilTold(all.length)).toEqual(all);
    expect(slow.frames).toEqual([]);
    slow.resume();
    await until(() => slow.ids().length >= all.length);
    expect(slow.ids()).toEqual(all);
    slow.close();
    brisk.close();
  }, 120_000);
});

test("What a client that is cut off again and again sees, put together, is the log", async () => {
  await using world = await worldWithPort();
  const inboxes = await Promise.all(["ada", "bob", "eve"].map((name) => world.inbox(name)));
  const seen: string[] = [];
  let lastId = "start";
  let isDone = false;
  let client: StreamClient | undefined;
  let cuts = 0;

  async function readOn(): Promise<void> {
    while (!isDone) {
      client = await open(world, lastId).catch(() => undefined);
      if (client?.status !== 200) continue;
      cuts += 1;
      const enough = 1 + ((cuts * 7) % 12);
      await Promise.race([client.untilTold(enough).catch(() => undefined), done.promise, client.over]);
      client.close();
      seen.push(...client.told());
      lastId = client.lastId ?? lastId;
      client = undefined;
    }
  }

  const done = Promise.withResolvers<void>();
  const reader = readOn();
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        world.deliver(mail(`${round} ${index}`), inboxes[index % 3]?.address ?? ""),
      ),
    );
    if (round < 2) await world.restart();
  }
  const all = await wholeLog(world);
  await until(() => seen.length + (client?.told().length ?? 0) >= all.length);
  isDone = true;
  done.resolve();
  await reader;
  expect(seen).toEqual(all);
}, 120_000);

function open(world: World, lastId: string): Promise<StreamClient> {
  return openStream(new URL("/v1/events/stream?types=*", world.service.apiUrl), {
    authorization: `Bearer ${world.apiKey}`,
    "last-event-id": lastId,
  });
}
