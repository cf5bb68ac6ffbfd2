import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import pino from "pino";
import { type Changes, localChanges, sharedChanges } from "../../src/flows/changes.ts";
import { changesChannel, mostNotificationBytes } from "../../src/store/channels.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { until } from "../support/until.ts";

const ours = { accountId: "acc_1", inboxId: "inb_1" };

describe("notifications within a process", () => {
  test("reach the listeners of the inbox and of its account before `notify` returns", () => {
    const heard: string[] = [];
    const changes = localChanges();
    changes.listen("inb_1", () => heard.push("inbox"));
    changes.listen("acc_1", () => heard.push("account"));
    changes.listen("inb_2", () => heard.push("another inbox"));
    changes.notify([ours]);
    expect(heard.sort()).toEqual(["account", "inbox"]);
  });

  test("reach each listener once for a batch, and only those of the account for a change in no inbox", () => {
    const heard: string[] = [];
    const changes = localChanges();
    changes.listen("inb_1", () => heard.push("inbox"));
    changes.listen("acc_1", () => heard.push("account"));
    changes.notify([ours, ours, ours]);
    changes.notify([{ accountId: "acc_1" }, { accountId: "acc_1", inboxId: null }]);
    expect(heard).toEqual(["account", "inbox", "account"]);
  });

  test("do not reach a listener that has left, though another listens to the same inbox", () => {
    const heard: string[] = [];
    const changes = localChanges();
    const leave = changes.listen("inb_1", () => heard.push("first"));
    changes.listen("inb_1", () => heard.push("second"));
    leave();
    leave();
    changes.notify([ours]);
    expect(heard).toEqual(["second"]);
  });

  test("let a listener leave and come again while it is called", () => {
    let heard = 0;
    const changes = localChanges();
    function again(): void {
      heard += 1;
      stop();
      stop = changes.listen("inb_1", again);
    }
    let stop = changes.listen("inb_1", again);
    changes.notify([ours]);
    expect(heard).toBe(1);
    changes.notify([ours]);
    expect(heard).toBe(2);
  });
});

describe.each(enginesHere())("notifications among processes (%s)", (engine) => {
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

  async function open(): Promise<Changes> {
    const changes = await sharedChanges({
      db: under.db,
      log: pino({ level: "silent" }),
      randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    });
    opened.push(changes.close);
    return changes;
  }

  /** The payloads on the channel. */
  async function overhear(): Promise<string[]> {
    const payloads: string[] = [];
    opened.push(await under.db.listen(changesChannel, (payload) => void payloads.push(payload)));
    return payloads;
  }

  test("reach this process once, which ignores its own on the channel", async () => {
    const changes = await open();
    let heard = 0;
    changes.listen("inb_1", () => {
      heard += 1;
    });
    const payloads = await overhear();
    changes.notify([ours]);
    expect(heard).toBe(1);
    if (isShared) await until(() => payloads.length > 0);
    expect(heard).toBe(1);
  });

  test.skipIf(!isShared)("reach the listeners in another process, and no others there", async () => {
    const [one, other] = [await open(), await open()];
    const heard: string[] = [];
    other.listen("acc_1", () => heard.push("account"));
    other.listen("inb_2", () => heard.push("another inbox"));
    other.listen("inb_1", () => heard.push("inbox"));
    one.notify([ours]);
    await until(() => heard.length > 0);
    expect(heard).toEqual(["account", "inbox"]);
  });

  test.skipIf(!isShared)("are sent at once, and then together", async () => {
    const changes = await open();
    const payloads = await overhear();
    for (let mail = 0; mail < 50; mail += 1) changes.notify([{ accountId: "acc_1", inboxId: `inb_${mail}` }]);
    await until(() => payloads.length > 1);
    const told = payloads.map((payload) => payload.split(" ").slice(1));
    expect(told[0]).toEqual(["acc_1", "inb_0"]);
    expect(told[1]).toHaveLength(50);
  });

  test.skipIf(!isShared)("of more inboxes than a payload can name reach all listeners", async () => {
    const [one, other] = [await open(), await open()];
    const payloads = await overhear();
    const heard: string[] = [];
    other.listen("inb_of_nobody", () => heard.push("all"));
    const many = Array.from({ length: 400 }, (_, index) => ({
      accountId: "acc_1",
      inboxId: `inb_${index}`.padEnd(30),
    }));
    one.notify(many.map(({ accountId, inboxId }) => ({ accountId, inboxId: inboxId.replaceAll(" ", "0") })));
    await until(() => heard.length > 0);
    expect(payloads.every((payload) => payload.length <= mostNotificationBytes)).toBe(true);
  });
});
