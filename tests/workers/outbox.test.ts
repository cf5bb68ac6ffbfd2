import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import pino from "pino";
import type { ClaimedItem } from "../../src/store/claims.ts";
import { settleDeliveries } from "../../src/store/deliveries.ts";
import { migrate } from "../../src/store/migrate.ts";
import { claimReady, insertOutboxItems } from "../../src/store/outbox.ts";
import { type Job, outboxWorker } from "../../src/workers/outbox.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";

const at = new Date("2026-03-21T10:05:00.000Z");

describe.each(enginesHere())("Work of an outbox (%s)", (engine) => {
  let under: EngineUnderTest;
  beforeAll(async () => {
    under = await openEngine(engine);
    await migrate(under.db);
  });
  afterAll(() => under.remove());

  test("that was claimed and found no place holds back what came after it in its inbox, which did", async () => {
    const db = under.db.work;
    const ids = ["evt_1", "evt_2", "evt_3"];
    await insertOutboxItems(
      db,
      ids.map((subjectId, place) => ({
        ...{ subjectId, kind: "webhook" as const, accountId: "A", inboxId: "1", lane: "A", dueAt: at },
        createdAt: new Date(at.getTime() + place),
      })),
    );
    const begun: string[] = [];
    const all = Promise.withResolvers<void>();
    let asked = 0;
    const job: Job<ClaimedItem, { subjectId: string; attempt: number; dueAt: null; logged: null; disables: null }> = {
      kind: "webhook",
      leaseMs: 30_000,
      lanes: {
        free: () => 3,
        strangers: () => true,
        room: () => 3,
        enter() {
          asked += 1;
          return asked === 1 ? undefined : () => undefined;
        },
        roomInMs: () => 0,
      },
      claim: (claim) => claimReady(db, { ...claim, lanes: [{ lane: "A", room: 3, lastInboxId: "" }] }),
      async attempt({ subjectId, attempt }) {
        begun.push(subjectId);
        if (begun.length === ids.length) all.resolve();
        return { settlement: { subjectId, attempt, dueAt: null, logged: null, disables: null }, leaving: "answered" };
      },
      failed: ({ subjectId, attempt }) => ({ subjectId, attempt, dueAt: null, logged: null, disables: null }),
      settle: (settlements) => settleDeliveries(db, settlements),
    };
    const log = pino({ level: "silent" });
    const worker = outboxWorker({ db, now: () => at, random: Math.random, log, claimer: 1 }, job);
    worker.tick();
    await all.promise;
    await worker.stop(1000);
    expect(begun).toEqual(ids);
  });
});
