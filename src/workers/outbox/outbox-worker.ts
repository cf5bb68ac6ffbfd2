import { DatabaseUnavailable, type Db } from "../../database/db.ts";
import type { ClaimedItem } from "../../store/outbox/claims.ts";
import { releaseItems } from "../../store/outbox/outbox-rows.ts";
import { type Alarm, alarm } from "./alarm.ts";
import { type DueRows, dueRows } from "./due-rows.ts";
import { type InHand, rowsInHand } from "./in-hand.ts";
import type { Job, OutboxDeps, SettledClaim } from "./job.ts";
import type { Lanes, Leave } from "./lanes.ts";
import { type Ledger, ledgerOf } from "./ledger.ts";
import { type Line, lineOf, pauseMs, slotsFor } from "./line.ts";
import { type Rounds, roundsOf } from "./rounds.ts";

export interface OutboxWorker {
  /** Notes that there may be work. */
  wake(): void;
  /** Called every second: looks for due rows and for rows without a wake-up, and renews leases. */
  tick(): void;
  /** Makes waiting rows of these lanes ready: their server answers again. */
  recover(lanes: readonly string[]): void;
  /** Resolves once this process has recorded an attempt of the row, or at the timeout. */
  settled(subjectId: string, timeoutMs: number): Promise<void>;
  /** Stops claiming and waits for the rows in hand. Those that have not ended after `graceMs` are cut off. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Makes the worker for one kind of work: it claims rows, attempts them and records the results. A claimed row starts at once, because only
 * rows that can start are claimed.
 */
export function outboxWorker<Item extends ClaimedItem, Settlement extends SettledClaim>(
  deps: OutboxDeps,
  job: Job<Item, Settlement>,
): OutboxWorker {
  const { kind, lanes, leaseMs } = job;
  const line = lineOf(kind, lanes);
  const due = dueRows(deps, kind, leaseMs);
  const inHand = rowsInHand(deps, job);
  const ledger = ledgerOf(deps, job, inHand);
  const rounds = roundsOf(round, (err) => logFailure(deps.log, kind.name, err));
  const askAgain = alarm(wake);
  const claimOnce = claimerOf(deps, job, { line, due, inHand, ledger, rounds }, askAgain);
  const slotComes = alarm(rounds.goOn);
  lanes.onFreed?.((slot) => {
    if (line.hearOfSlot(slot)) rounds.goOn();
  });

  function wake(): void {
    line.nudge();
    rounds.goOn();
  }

  async function round(): Promise<void> {
    if (due.isDue()) {
      const { readied, isAll } = await due.readyDue(inHand.ids());
      if (readied > 0) line.sweep();
      if (!isAll) rounds.goOn();
    }
    while (!rounds.isStopping() && (await claimOnce()));
    slotComes.clear();
    const ms = lanes.slotInMs();
    if (ms !== undefined && ms > 0) slotComes.setIn(ms);
  }

  return {
    wake,
    tick() {
      due.lookAgain();
      line.sweep();
      wake();
      inHand.renewIfTime();
    },
    recover(answering) {
      due.recover(answering);
      wake();
    },
    settled: ledger.written,
    async stop(graceMs) {
      await inHand.end(graceMs, rounds.stop());
      askAgain.clear();
      slotComes.clear();
    },
  };
}

/** Logs the error of a round. An outage of the database is a warning, anything else is a bug. */
function logFailure(log: OutboxDeps["log"], kind: string, err: unknown): void {
  const level = err instanceof DatabaseUnavailable ? "warn" : "error";
  log[level]({ err, kind }, "cannot work on the outbox: trying again");
}

interface Parts<Item extends ClaimedItem, Settlement> {
  line: Line<Item>;
  due: DueRows;
  inHand: InHand<Item, Settlement>;
  ledger: Ledger<Settlement>;
  rounds: Rounds;
}

/** Returns a function that makes one claim and starts the rows that it gets. Its result is false if there is nothing more to claim now. */
function claimerOf<Item extends ClaimedItem, Settlement extends SettledClaim>(
  { db, now, random, claimer }: OutboxDeps,
  { kind, lanes, leaseMs, claim }: Job<Item, Settlement>,
  parts: Parts<Item, Settlement>,
  askAgain: Alarm,
): () => Promise<boolean> {
  const { line, due } = parts;
  const begin = beginnerOf(db, lanes, parts);
  return async () => {
    if ((await due.readyRecovered()) > 0) line.sweep();
    const question = line.ask();
    if (question === undefined) return false;
    const nudgesBefore = line.nudges();
    const leasedUntil = new Date(now().getTime() + leaseMs);
    const answer = await claim({ ...question, kind, claimer, leasedUntil });
    const ms = pauseMs(answer, random);
    if (ms !== undefined) askAgain.setIn(ms);
    line.hear(question, answer);
    await begin(answer.items, nudgesBefore);
    return answer.items.length > 0 || (question.sweepAfter !== undefined && !answer.contended && line.isSweeping());
  };
}

/** Returns a function that starts claimed rows, and releases those without a slot. The result of each attempt is recorded when it ends. */
function beginnerOf<Item extends ClaimedItem, Settlement>(
  db: Db,
  lanes: Lanes<Item>,
  { line, due, inHand, ledger, rounds }: Parts<Item, Settlement>,
): (items: readonly Item[], nudgesBefore: number) => Promise<void> {
  async function carryOut(item: Item, leave: Leave, nudgesBefore: number): Promise<void> {
    const dueAt = await inHand.attempt(item, ({ settlement, leaving }) => {
      if (line.leave(item, () => leave(leaving))) rounds.goOn();
      return ledger.write(settlement);
    });
    const isDueNow = dueAt !== null && due.expect(dueAt);
    if (line.isFollowed(item, nudgesBefore) || isDueNow) rounds.goOn();
  }

  return async (items, nudgesBefore) => {
    const slots = slotsFor(rounds.isStopping() ? [] : items, lanes);
    for (const [item, leave] of slots) void carryOut(item, leave, nudgesBefore);
    const turnedAway = items.filter((item) => !slots.has(item));
    for (const item of turnedAway) line.turnAway(item);
    await releaseItems(db, turnedAway);
  };
}
