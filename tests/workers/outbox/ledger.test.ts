import { describe, expect, test } from "bun:test";
import pino from "pino";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { kinds } from "../../../src/store/outbox/kinds.ts";
import type { SettledClaim } from "../../../src/workers/outbox/job.ts";
import { ledgerOf } from "../../../src/workers/outbox/ledger.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const putOff: SettledClaim = { subjectId: "evt_1", attempt: 1, dueAt: at };

type Settle = (settlements: readonly SettledClaim[]) => Promise<Set<string>>;

function ledgerWith(settle: Settle, { cutOff = new AbortController().signal, inHand = 1, gatherMs = 60_000 } = {}) {
  const told: SettledClaim[] = [];
  const settled = (settlement: SettledClaim) => void told.push(settlement);
  const job = { kind: kinds.webhook, settle, settled, gatherMs };
  return { ledger: ledgerOf({ log: pino({ level: "silent" }) }, job, { cutOff, count: () => inHand }), told };
}

describe("The ledger", () => {
  test("says when the row is due again, and tells of what was written", async () => {
    const { ledger, told } = ledgerWith(async () => new Set(["evt_1"]));
    expect(await ledger.write(putOff)).toEqual(at);
    expect(told).toEqual([putOff]);
    await ledger.written("evt_1", 60_000);
  });

  test("has no say about a row that another has now", async () => {
    const { ledger, told } = ledgerWith(async () => new Set());
    expect(await ledger.write(putOff)).toBeNull();
    expect(told).toEqual([]);
  });

  test("keeps what it can't write while the database is away", async () => {
    let tries = 0;
    const { ledger, told } = ledgerWith(async () => {
      tries += 1;
      if (tries === 1) throw new DatabaseUnavailable("away");
      return new Set(["evt_1"]);
    });
    expect(await ledger.write(putOff)).toEqual(at);
    expect([tries, told]).toEqual([2, [putOff]]);
  });

  test("gives up on a database that is away when its time is over: the row falls due by its lease", async () => {
    const { ledger, told } = ledgerWith(() => Promise.reject(new DatabaseUnavailable("away")), {
      cutOff: AbortSignal.abort(),
    });
    expect(await ledger.write(putOff)).toBeNull();
    expect(told).toEqual([]);
  });

  test("drops what can't be written at all, and tells who waits", async () => {
    const { ledger } = ledgerWith(() => Promise.reject(new Error("a bug")));
    const waiting = ledger.written("evt_1", 60_000);
    expect(await ledger.write(putOff)).toBeNull();
    await waiting;
  });

  test.each<[string, number, { inHand: number; gatherMs: number }, string[]]>([
    [
      "writes the results of those in hand together, and the last one at once",
      3,
      { inHand: 3, gatherMs: 60_000 },
      ["0 1 2"],
    ],
    ["writes a result alone if those of the others in hand do not come", 1, { inHand: 3, gatherMs: 1 }, ["0"]],
  ])("%s", async (_, count, options, expected) => {
    const written: string[] = [];
    const { ledger } = ledgerWith(async (settlements) => {
      const ids = settlements.map(({ subjectId }) => subjectId);
      written.push(ids.join(" "));
      return new Set(ids);
    }, options);
    const writes: Promise<unknown>[] = [];
    for (let id = 0; id < count; id += 1) {
      writes.push(ledger.write({ ...putOff, subjectId: String(id) }));
      // Results of one turn of the event loop would be written together anyway.
      await new Promise(setImmediate);
    }
    await Promise.all(writes);
    expect(written).toEqual(expected);
  });
});
