import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import { wholeAccount } from "../../../src/domain/access/access.ts";
import { accountStats } from "../../../src/flows/read/account-stats.ts";
import { migrate } from "../../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../../support/engines.ts";
import { untilLogShowsAll } from "../../support/log-horizon.ts";
import { watchedDb } from "../../support/watched-db.ts";

const start = Date.parse("2026-03-21T10:05:30.000Z");
const minuteMs = 60_000;
const bounds = { eventsAtOnce: 100, mostEvents: 1_000, mostAccounts: 50 };

describe.each(enginesHere())("The stats of an account on %s", (engine) => {
  let opened: EngineUnderTest;
  let accounts = 0;
  beforeAll(async () => {
    opened = await openEngine(engine);
    await migrate(opened.db);
  }, 60_000);
  afterAll(() => opened.remove());

  /** The stats of a new account, with its clock, and with the statements that read its log. */
  function begin() {
    accounts += 1;
    const accountId = `acc_${accounts}`;
    const clock = { nowMs: start };
    const reads: string[] = [];
    const failing = { next: false };
    const api: Db = watchedDb(opened.db.api, ({ text }) => {
      if (!text.includes("looked")) return;
      reads.push(text);
      if (!failing.next) return;
      failing.next = false;
      throw new Error("the database is away");
    });
    const statsOf = accountStats({ db: { ...opened.db, api }, now: () => new Date(clock.nowMs) }, bounds);
    /** Writes this many events, the first one this long before now, and each a millisecond after the one before. */
    const happen = async (count: number, agoMs: number, type = "message.received") => {
      await query(
        opened.db.api,
        sql`insert into events (id, account_id, type, occurred_at)
            select 'evt_' || gen_random_uuid(), ${accountId}, ${type},
              ${new Date(clock.nowMs - agoMs)}::timestamptz + number * interval '1 millisecond'
            from generate_series(0, ${count - 1}) number`,
      );
      await untilLogShowsAll(opened.db.api);
    };
    const received = async (minutes: number) =>
      (await statsOf(wholeAccount({ id: accountId, plan: "free" }, "key"), minutes)).perMinute.map(
        (minute) => minute.received,
      );
    return { accountId, clock, reads, failing, statsOf, happen, received };
  }

  test("count the mail of each minute by what became of it", async () => {
    const { accountId, statsOf, happen } = begin();
    await happen(3, 2 * minuteMs);
    await happen(2, minuteMs, "message.sent");
    await happen(1, minuteMs, "message.failed");
    await happen(4, 0, "message.bounced");
    await happen(5, 0, "inbox.created");
    const { perMinute } = await statsOf(wholeAccount({ id: accountId, plan: "free" }, "key"), 3);
    const now = Math.floor(start / minuteMs);
    expect(perMinute).toEqual([
      { minute: now - 2, received: 3, sent: 0, failed: 0, bounced: 0 },
      { minute: now - 1, received: 0, sent: 2, failed: 1, bounced: 0 },
      { minute: now, received: 0, sent: 0, failed: 0, bounced: 4 },
    ]);
  });

  test("are counted once in ten seconds, also for many callers at once", async () => {
    const { clock, reads, happen, received } = begin();
    await happen(1, 0);
    expect(await Promise.all([received(1), received(1), received(1)])).toEqual([[1], [1], [1]]);
    const { length } = reads;
    await happen(1, 0);
    clock.nowMs += 9_999;
    expect(await received(1)).toEqual([1]);
    expect(reads.length).toBe(length);
    clock.nowMs += 1;
    expect(await received(1)).toEqual([2]);
    expect(reads.length).toBe(length + 1);
  });

  test("have zeros for quiet minutes, as many minutes as asked for", async () => {
    const { clock, happen, received } = begin();
    await happen(1, 90 * minuteMs);
    expect(await received(60)).toEqual(Array.from({ length: 60 }, () => 0));
    const day = await received(1_440);
    expect([day.length, day.indexOf(1)]).toEqual([1_440, 1_440 - 91]);
    clock.nowMs += minuteMs;
    expect((await received(1_440)).indexOf(1)).toBe(1_440 - 92);
  });

  test("go back through a long log only as far as the minutes reach, and later read only what is new", async () => {
    const { clock, reads, happen, received } = begin();
    await happen(600, 26 * 60 * minuteMs);
    await happen(250, 40 * minuteMs);
    expect((await received(60)).reduce((sum, count) => sum + count)).toBe(250);
    // Three pieces have events of these minutes, and a fourth has only older ones.
    expect(reads.length).toBe(4);
    await happen(7, 0);
    clock.nowMs += 10_000;
    expect((await received(60)).reduce((sum, count) => sum + count)).toBe(257);
    expect(reads.length).toBe(5);
    clock.nowMs += 10_000;
    expect((await received(1_440)).reduce((sum, count) => sum + count)).toBe(257);
    expect(reads.length).toBe(6);
  });

  test("leave out the minutes before the last events, if an account has too many to look at", async () => {
    const { happen, received } = begin();
    for (let minute = 14; minute >= 0; minute -= 1) await happen(100, minute * minuteMs);
    // The last piece that was looked at may be a part of its minute.
    expect(await received(60)).toEqual(Array.from({ length: 9 }, () => 100));
  });

  test("are counted anew after an hour without a question, without what happened long before", async () => {
    const { clock, reads, happen, received } = begin();
    await happen(1, 0);
    expect((await received(60)).at(-1)).toBe(1);
    const { length } = reads;
    clock.nowMs += 3 * 60 * minuteMs;
    await happen(600, 90 * minuteMs);
    await happen(2, 0);
    expect(await received(2)).toEqual([0, 2]);
    expect(reads.length).toBe(length + 2);
    expect((await received(181))[0]).toBe(1);
  });

  test("are right after a read of the database failed", async () => {
    const { reads, failing, happen, received } = begin();
    await happen(120, minuteMs);
    failing.next = true;
    expect(received(2)).rejects.toThrow("away");
    expect(await received(2)).toEqual([120, 0]);
    expect(reads.length).toBe(3);
  });
});
