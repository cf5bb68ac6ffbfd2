import { describe, expect, test } from "bun:test";
import pino from "pino";
import type { ClaimedItem } from "../../../src/store/outbox/claims.ts";
import { type DeliverySettlement, settleDeliveries } from "../../../src/store/outbox/delivery-settlements.ts";
import { kinds } from "../../../src/store/outbox/kinds.ts";
import { claimReady, insertOutboxItems } from "../../../src/store/outbox/outbox-rows.ts";
import type { Job } from "../../../src/workers/outbox/job.ts";
import type { Lanes } from "../../../src/workers/outbox/lanes.ts";
import { outboxWorker } from "../../../src/workers/outbox/outbox-worker.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

const at = new Date("2026-03-21T10:05:00.000Z");

describe.each(enginesHere())("Work of an outbox (%s)", (engine) => {
  const under = setUpEngine(engine);

  const spacious: Lanes<ClaimedItem> = {
    free: () => 3,
    strangers: () => true,
    slots: () => 3,
    enter: () => () => undefined,
    slotInMs: () => 0,
  };
  const done = { dueAt: null, isForgiven: false, logged: null, answer: null };

  const keyOf = ({ subjectId, lane, attempt }: ClaimedItem) => ({ subjectId, eventId: subjectId, lane, attempt });

  /** Events of one inbox, in the order of their ids. */
  async function line(...ids: string[]): Promise<void> {
    const shared = { kind: "webhook" as const, accountId: "A", inboxId: "1", lane: "A", dueAt: at };
    const rows = ids.map((subjectId, index) => ({
      ...shared,
      subjectId,
      eventId: subjectId,
      createdAt: new Date(at.getTime() + index),
    }));
    await insertOutboxItems(under.db.work, rows);
  }

  /** A worker with slots for all, whose attempts come to `done`. */
  function workerOf(own: Partial<Job<ClaimedItem, DeliverySettlement>>) {
    const db = under.db.work;
    const job: Job<ClaimedItem, DeliverySettlement> = {
      kind: kinds.webhook,
      leaseMs: 30_000,
      lanes: spacious,
      claim: (claim) =>
        claimReady(db, {
          ...claim,
          lanes: [{ lane: "A", slots: 3, pace: "brisk", lastAccountId: "", lastInboxes: {} }],
        }),
      attempt: async (item) => ({ settlement: { ...keyOf(item), ...done }, leaving: "answered" }),
      failed: (item) => ({ ...keyOf(item), ...done }),
      settle: async (settlements) => (await settleDeliveries(db, settlements)).inForce,
      ...own,
    };
    const log = pino({ level: "silent" });
    return outboxWorker({ db, now: () => at, random: Math.random, log, claimer: 1, isAlone: false }, job);
  }

  test("that was claimed and found no slot holds back what came after it in its inbox, which did", async () => {
    const ids = ["evt_1", "evt_2", "evt_3"];
    await line(...ids);
    const begun: string[] = [];
    const all = Promise.withResolvers<void>();
    let asked = 0;
    const worker = workerOf({
      lanes: {
        ...spacious,
        enter() {
          asked += 1;
          return asked === 1 ? undefined : () => undefined;
        },
      },
      async attempt(item) {
        begun.push(item.subjectId);
        if (begun.length === ids.length) all.resolve();
        return { settlement: { ...keyOf(item), ...done }, leaving: "answered" };
      },
    });
    worker.tick();
    await all.promise;
    await worker.stop(1000);
    expect(begun).toEqual(ids);
  });

  test("that is due again at once is taken up without a further look", async () => {
    await line("evt_4");
    const again = Promise.withResolvers<void>();
    const roundOver = Promise.withResolvers<void>();
    const worker = workerOf({
      lanes: {
        ...spacious,
        // The last thing that a round asks.
        slotInMs() {
          setImmediate(roundOver.resolve);
          return undefined;
        },
      },
      async attempt(item) {
        await roundOver.promise;
        if (item.attempt === 2) again.resolve();
        return { settlement: { ...keyOf(item), ...done, dueAt: item.attempt === 1 ? at : null }, leaving: "unknown" };
      },
    });
    worker.tick();
    await again.promise;
    await worker.stop(1000);
  });

  test("whose attempt throws gets the outcome that its job has for that, and the next row continues", async () => {
    await line("evt_5", "evt_6");
    const settled: string[] = [];
    const all = Promise.withResolvers<void>();
    const worker = workerOf({
      async attempt(item) {
        if (item.subjectId === "evt_5") throw new Error("a bug");
        return { settlement: { ...keyOf(item), ...done }, leaving: "answered" };
      },
      settled({ subjectId }) {
        settled.push(subjectId);
        if (settled.length === 2) all.resolve();
      },
    });
    worker.tick();
    await all.promise;
    await worker.stop(1000);
    expect(settled.sort()).toEqual(["evt_5", "evt_6"]);
  });

  test("that is in hand at a stop ends in its time, is cut off after it, and then is first in line elsewhere", async () => {
    await line("evt_7");
    const begun = Promise.withResolvers<void>();
    const worker = workerOf({
      async attempt(item, signal) {
        begun.resolve();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { settlement: { ...keyOf(item), ...done, dueAt: at }, leaving: "unknown" };
      },
    });
    worker.tick();
    await begun.promise;
    await worker.stop(1);
    const taken = Promise.withResolvers<number>();
    const other = workerOf({
      async attempt(item) {
        taken.resolve(item.attempt);
        return { settlement: { ...keyOf(item), ...done }, leaving: "answered" };
      },
    });
    other.tick();
    expect(await taken.promise).toBe(2);
    await other.stop(1000);
  });
});
