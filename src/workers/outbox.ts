import type { Logger } from "pino";
import { groupCommit } from "../flows/group-commit.ts";
import type { Claim, Claimed, ClaimedItem } from "../store/claims.ts";
import { DatabaseUnavailable, type Db } from "../store/db.ts";
import {
  findNextDueAt,
  markDueReady,
  markLanesReady,
  type OutboxKind,
  releaseItems,
  renewLeases,
} from "../store/outbox.ts";
import type { Leaving } from "../webhook/destinations.ts";
import { laneBook } from "./lane-book.ts";
import type { Lanes, Leave } from "./lanes.ts";
import { waitingRoom } from "./waiting-room.ts";

/** One kind of work: how it is claimed, done and written down. */
export interface Job<Item extends ClaimedItem, Settlement extends SettledClaim> {
  kind: OutboxKind;
  /** For how long a claim holds without being renewed. */
  leaseMs: number;
  lanes: Lanes<Item>;
  claim: (claim: Claim) => Promise<Claimed<Item>>;
  /** One attempt. What a network does is an outcome; what it throws is a bug, of which `failed` makes an outcome. */
  attempt: (item: Item, signal: AbortSignal) => Promise<{ settlement: Settlement; leaving: Leaving }>;
  failed: (item: Item) => Settlement;
  /** One statement for many. Answers whose claim was in force. */
  settle: (settlements: readonly Settlement[]) => Promise<Set<string>>;
  /** Told of each attempt once what came of it is written down. */
  settled?: ((settlement: Settlement) => void) | undefined;
}

export interface SettledClaim {
  subjectId: string;
  attempt: number;
  /** When to try again; null for never. */
  dueAt: Date | null;
}

export interface OutboxDeps {
  db: Db;
  now: () => Date;
  random: () => number;
  log: Logger;
  /** A number that no other process on this database has. */
  claimer: number;
}

export interface OutboxWorker {
  /** There may be something to do. */
  wake(): void;
  /** The safety net, called every second: looks for what is due, for what no wake-up told of, and renews leases. */
  tick(): void;
  /** Waiting rows of these lanes are worth another try now. */
  recover(lanes: readonly string[]): void;
  /** Resolves once an attempt of this row has been written down here, or after the time. */
  settled(subjectId: string, timeoutMs: number): Promise<void>;
  /** Claims no more, lets what is in hand end, cuts off what has not ended after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

const rowsPerClaim = 100;
const rowsPerPromotion = 500;
const newestEvery = 4;

/** Claim → attempt → settle, for one kind of work. A claimed row is started at once: what can't start isn't claimed. */
export function outboxWorker<Item extends ClaimedItem, Settlement extends SettledClaim>(
  { db, now, random, log, claimer }: OutboxDeps,
  job: Job<Item, Settlement>,
): OutboxWorker {
  const { kind, lanes } = job;
  /** With their ends. A row whose claim was held for lost may be here a second time. */
  const inHand = new Map<Item, Promise<void>>();
  const line = laneBook();
  const cutOff = new AbortController();
  const waiting = waitingRoom();
  let wanted = false;
  let nudges = 0;
  let stopping = false;
  let round: Promise<void> | undefined;
  let sweepAfter: string | undefined;
  let turn = 0;
  /** Somebody said that there is new work. */
  let isNudged = false;
  /** The last claim took all that could start: there may be more. */
  let isFull = false;
  let recovering: readonly string[] = [];
  let nextDueAtMs = 0;
  let renewedMs = performance.now();
  let alarm: ReturnType<typeof setTimeout> | undefined;
  let soon: ReturnType<typeof setTimeout> | undefined;
  let soonAtMs = 0;

  function wake(): void {
    isNudged = true;
    nudges += 1;
    goOn();
  }

  function goOn(): void {
    wanted = true;
    if (round !== undefined || stopping) return;
    round = work()
      .catch((err: unknown) => {
        wanted = false;
        const message = "cannot work on the outbox: trying again";
        if (err instanceof DatabaseUnavailable) log.warn({ err, kind }, message);
        else log.error({ err, kind }, message);
      })
      .finally(() => {
        round = undefined;
        if (wanted) goOn();
      });
  }

  async function work(): Promise<void> {
    while (wanted && !stopping) {
      wanted = false;
      if (now().getTime() >= nextDueAtMs) await promote();
      while (!stopping && (await claimOnce()));
    }
    lookAgainWhenRoomComes();
  }

  /** What is due steps into line; each step takes a bounded number of rows, and what it leaves is due still. */
  async function promote(): Promise<void> {
    const held = [...inHand.keys()].map(({ subjectId }) => subjectId);
    const promotion = { kind, now: now(), inHand: held, leaseMs: job.leaseMs, limit: rowsPerPromotion };
    const promoted = await markDueReady(db, promotion);
    if (promoted > 0) sweepAfter ??= "";
    if (promoted === rowsPerPromotion) wanted = true;
    else nextDueAtMs = (await findNextDueAt(db, kind))?.getTime() ?? Number.POSITIVE_INFINITY;
  }

  async function readyRecovered(): Promise<void> {
    const answering = recovering;
    const readied = await markLanesReady(db, kind, answering, rowsPerPromotion);
    if (readied > 0) sweepAfter ??= "";
    if (readied < rowsPerPromotion && recovering === answering) recovering = [];
  }

  /** False when there is nothing more to claim now. */
  async function claimOnce(): Promise<boolean> {
    if (recovering.length > 0) await readyRecovered();
    const limit = Math.min(rowsPerClaim, lanes.free());
    isFull = limit <= 0;
    if (isFull) return false;
    const known = line.known(lanes.room, limit);
    turn += 1;
    const newest = isNudged || turn % newestEvery === 0;
    isNudged = false;
    const sweptFrom = sweepAfter;
    const nudgesBefore = nudges;
    const claimed = await job.claim({
      kind,
      claimer,
      limit,
      leasedUntil: new Date(now().getTime() + job.leaseMs),
      lanes: known,
      strangers: lanes.strangers(),
      // Looking for them costs; while a claim follows on the other they are looked for often enough now and then.
      newest,
      sweepAfter: sweptFrom,
      turn,
    });
    const { items, contended, behindAnother } = claimed;
    isFull = items.length >= limit;
    // A sweep goes on from where it was when the limit or another process has left lanes out.
    if (contended) askAgainIn(5 + 15 * random());
    else if (behindAnother) askAgainIn(50 + 50 * random());
    if (!contended && !isFull && sweepAfter === sweptFrom) sweepAfter = claimed.sweptTo;
    line.note(known, items, isFull || contended);
    await start(items, nudgesBefore);
    return items.length > 0 || (!contended && sweepAfter !== undefined);
  }

  async function start(items: readonly Item[], nudgesBefore: number): Promise<void> {
    const turnedAway: Item[] = [];
    const heldBack = new Set<string>();
    for (const item of items) {
      // Who is turned away holds back what came later in the inbox, also if there should be room for that.
      const place = `${item.lane} ${item.inboxId}`;
      const leave = stopping || heldBack.has(place) ? undefined : lanes.enter(item);
      if (leave === undefined) {
        turnedAway.push(item);
        heldBack.add(place);
        line.left(item.lane);
      } else inHand.set(item, attempt(item, leave, nudgesBefore));
    }
    await releaseItems(db, turnedAway);
  }

  async function attempt(item: Item, leave: Leave, nudgesBefore: number): Promise<void> {
    const { settlement, leaving } = await outcomeOf(item);
    leave(leaving);
    line.left(item.lane);
    if (isFull || line.isThirsty(item.lane)) goOn();
    await writeDown(settlement);
    inHand.delete(item);
    waiting.tell(item.subjectId);
    // Mail of its inbox that came since it was claimed was held back behind it.
    if (kind === "relay" && (item.hasMore || nudges > nudgesBefore)) {
      line.expectMore(item.lane);
      goOn();
    }
  }

  async function outcomeOf(item: Item): Promise<{ settlement: Settlement; leaving: Leaving }> {
    try {
      return await job.attempt(item, cutOff.signal);
    } catch (err) {
      log.error({ err, kind, subject_id: item.subjectId, attempt: item.attempt }, "attempt failed: unexpected error");
      return { settlement: job.failed(item), leaving: "unknown" };
    }
  }

  const commit = groupCommit<Settlement, boolean>({
    commit: async (settlements) => {
      const inForce = await job.settle(settlements);
      return settlements.map(({ subjectId }) => inForce.has(subjectId));
    },
    sizeOf: () => 0,
    isHopeless: (error) => error instanceof DatabaseUnavailable,
    mostItems: 200,
  });

  /** While the database is away what came of an attempt is kept; if it never comes back, the row falls due by its lease. */
  async function writeDown(settlement: Settlement): Promise<void> {
    const { subjectId, attempt, dueAt } = settlement;
    for (;;) {
      try {
        const wasInForce = await commit(settlement);
        if (!wasInForce) {
          log.warn({ kind, subject_id: subjectId, attempt }, "claim was lost: another has it");
          return;
        }
        if (dueAt !== null) nextDueAtMs = Math.min(nextDueAtMs, dueAt.getTime());
        job.settled?.(settlement);
        return;
      } catch (err) {
        if (!(err instanceof DatabaseUnavailable)) {
          log.error({ err, kind, subject_id: subjectId, attempt }, "cannot write down an attempt");
          return;
        }
        if (cutOff.signal.aborted) return;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  /** The other has the lane for a few milliseconds, or an inbox until it has started what it took. */
  function askAgainIn(ms: number): void {
    const atMs = performance.now() + ms;
    if (stopping || (soon !== undefined && soonAtMs <= atMs)) return;
    clearTimeout(soon);
    soonAtMs = atMs;
    soon = setTimeout(() => {
      soon = undefined;
      wake();
    }, ms);
  }

  function lookAgainWhenRoomComes(): void {
    clearTimeout(alarm);
    const ms = lanes.roomInMs();
    if (ms !== undefined && ms > 0 && !stopping) alarm = setTimeout(goOn, ms);
  }

  async function renew(): Promise<void> {
    renewedMs = performance.now();
    await renewLeases(db, [...inHand.keys()], new Date(now().getTime() + job.leaseMs));
  }

  return {
    wake,
    tick() {
      nextDueAtMs = 0;
      sweepAfter ??= "";
      wake();
      if (performance.now() - renewedMs > job.leaseMs / 3) {
        renew().catch((err: unknown) => log.warn({ err, kind }, "cannot renew leases"));
      }
    },
    recover(answering) {
      recovering = [...new Set([...recovering, ...answering])];
      wake();
    },
    settled: waiting.until,
    async stop(graceMs) {
      stopping = true;
      clearTimeout(alarm);
      clearTimeout(soon);
      const timer = setTimeout(() => cutOff.abort(), graceMs);
      await round;
      await Promise.all(inHand.values());
      clearTimeout(timer);
    },
  };
}
