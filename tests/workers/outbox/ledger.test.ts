import { describe, expect, test } from "bun:test";
import pino from "pino";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { kinds } from "../../../src/store/outbox/kinds.ts";
import type { SettledClaim } from "../../../src/workers/outbox/job.ts";
import { ledgerOf } from "../../../src/workers/outbox/ledger.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const putOff: SettledClaim = { subjectId: "evt_1", attempt: 1, dueAt: at };

function ledgerWith(settle: () => Promise<Set<string>>, cutOff = new AbortController().signal) {
  const told: SettledClaim[] = [];
  const job = { kind: kinds.webhook, settle, settled: (settlement: SettledClaim) => void told.push(settlement) };
  return { ledger: ledgerOf({ log: pino({ level: "silent" }) }, job, cutOff), told };
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
    const { ledger, told } = ledgerWith(() => Promise.reject(new DatabaseUnavailable("away")), AbortSignal.abort());
    expect(await ledger.write(putOff)).toBeNull();
    expect(told).toEqual([]);
  });

  test("drops what can't be written at all, and tells who waits", async () => {
    const { ledger } = ledgerWith(() => Promise.reject(new Error("a bug")));
    const waiting = ledger.written("evt_1", 60_000);
    expect(await ledger.write(putOff)).toBeNull();
    await waiting;
  });
});
