import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import pino from "pino";
import { localNews, type News, sharedNews } from "../../src/flows/news.ts";
import { mostToldBytes, newsChannel } from "../../src/store/channels.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { until } from "../support/until.ts";

const ours = { accountId: "acc_1", inboxId: "inb_1" };

describe("news within a process", () => {
  test("wake who listens to the inbox and who listens to its account, before the teller goes on", () => {
    const heard: string[] = [];
    const news = localNews();
    news.listen("inb_1", () => heard.push("inbox"));
    news.listen("acc_1", () => heard.push("account"));
    news.listen("inb_2", () => heard.push("another inbox"));
    news.tell([ours]);
    expect(heard.sort()).toEqual(["account", "inbox"]);
  });

  test("wake each once for a batch, and the account alone for what is of no inbox", () => {
    const heard: string[] = [];
    const news = localNews();
    news.listen("inb_1", () => heard.push("inbox"));
    news.listen("acc_1", () => heard.push("account"));
    news.tell([ours, ours, ours]);
    news.tell([{ accountId: "acc_1" }, { accountId: "acc_1", inboxId: null }]);
    expect(heard).toEqual(["account", "inbox", "account"]);
  });

  test("are not heard any more by who has left, though another listens for the same", () => {
    const heard: string[] = [];
    const news = localNews();
    const leave = news.listen("inb_1", () => heard.push("first"));
    news.listen("inb_1", () => heard.push("second"));
    leave();
    leave();
    news.tell([ours]);
    expect(heard).toEqual(["second"]);
  });

  test("may be listened to anew by who is just told", () => {
    let heard = 0;
    const news = localNews();
    function again(): void {
      heard += 1;
      stop();
      stop = news.listen("inb_1", again);
    }
    let stop = news.listen("inb_1", again);
    news.tell([ours]);
    expect(heard).toBe(1);
    news.tell([ours]);
    expect(heard).toBe(2);
  });
});

describe.each(enginesHere())("news among processes (%s)", (engine) => {
  let under: EngineUnderTest;
  const opened: (() => Promise<void>)[] = [];
  const isShared = engine === "postgres";
  beforeAll(async () => {
    under = await openEngine(engine);
  });
  afterEach(async () => {
    for (const close of opened.splice(0)) await close();
  });
  afterAll(() => under.remove());

  async function open(): Promise<News> {
    const news = await sharedNews({
      db: under.db,
      log: pino({ level: "silent" }),
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    });
    opened.push(news.close);
    return news;
  }

  /** What goes over the channel. */
  async function overhear(): Promise<string[]> {
    const payloads: string[] = [];
    opened.push(await under.db.listen(newsChannel, (payload) => void payloads.push(payload)));
    return payloads;
  }

  test("are told here once, and the process does not hear its own", async () => {
    const news = await open();
    let heard = 0;
    news.listen("inb_1", () => {
      heard += 1;
    });
    const payloads = await overhear();
    news.tell([ours]);
    expect(heard).toBe(1);
    if (isShared) await until(() => payloads.length > 0);
    expect(heard).toBe(1);
  });

  test.skipIf(!isShared)("wake who listens in another process, and nobody else there", async () => {
    const [one, other] = [await open(), await open()];
    const heard: string[] = [];
    other.listen("acc_1", () => heard.push("account"));
    other.listen("inb_2", () => heard.push("another inbox"));
    other.listen("inb_1", () => heard.push("inbox"));
    one.tell([ours]);
    await until(() => heard.length > 0);
    expect(heard).toEqual(["account", "inbox"]);
  });

  test.skipIf(!isShared)("go out at once, and then together", async () => {
    const news = await open();
    const payloads = await overhear();
    for (let mail = 0; mail < 50; mail += 1) news.tell([{ accountId: "acc_1", inboxId: `inb_${mail}` }]);
    await until(() => payloads.length > 1);
    const told = payloads.map((payload) => payload.split(" ").slice(1));
    expect(told[0]).toEqual(["acc_1", "inb_0"]);
    expect(told[1]).toHaveLength(50);
  });

  test.skipIf(!isShared)("of more inboxes than a notification can name wake all", async () => {
    const [one, other] = [await open(), await open()];
    const payloads = await overhear();
    const heard: string[] = [];
    other.listen("inb_of_nobody", () => heard.push("all"));
    const many = Array.from({ length: 400 }, (_, index) => ({
      accountId: "acc_1",
      inboxId: `inb_${index}`.padEnd(30),
    }));
    one.tell(many.map(({ accountId, inboxId }) => ({ accountId, inboxId: inboxId.replaceAll(" ", "0") })));
    await until(() => heard.length > 0);
    expect(payloads.every((payload) => payload.length <= mostToldBytes)).toBe(true);
  });
});
