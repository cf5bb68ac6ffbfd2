import { transaction } from "../database/db.ts";
import type { Deps } from "../flows/deps.ts";
import {
  type CountingPlace,
  findUncounted,
  holdCounting,
  insertCounts,
  lockCounting,
  markCounted,
  releaseCounting,
  type Uncounted,
} from "../store/account/usage.ts";
import { pause, type Rounds, startRounds } from "./rounds.ts";

export type UsageCounterDeps = Pick<Deps, "db" | "now" | "randomBytes" | "log">;

const pauseMs = 1_000;
const leaseMs = 60_000;
/** How often an idle round writes up to when all mail is counted. */
const idleMarkMs = 20_000;
/** A message or an inbox may appear this long after others with later ids, because its transaction commits later. */
const settlingMs = 10_000;
const lookAt = 5_000;
/** The inboxes of a round's part of the pass over all inboxes: a million inboxes take half an hour. */
const passAt = 500;
/** The most messages that one statement counts, which takes 50 ms. */
export const countAtOnce = 5_000;

/**
 * Adds up usage by day in the background, behind the mail. Only the process with the lease works. The ids of new messages lead to their
 * inboxes, and the numbers of the messages in an inbox say what is not counted yet. So a message that is committed late is counted with the
 * next one of its inbox, or when the pass over all inboxes comes to it. A stop waits for the current batch.
 */
export function startUsageCounter({ db, now, randomBytes, log }: UsageCounterDeps): Rounds {
  const holder = randomBytes(12).toHex();
  let place: CountingPlace | undefined;
  let renewMs = 0;
  let markMs = 0;

  /** Returns where counting goes on, or undefined if another process has the lease. */
  async function held(): Promise<CountingPlace | undefined> {
    if (place !== undefined && performance.now() < renewMs) return place;
    const at = now();
    place = await holdCounting(db.work, { holder, now: at, leasedUntil: new Date(at.getTime() + leaseMs) });
    renewMs = performance.now() + leaseMs / 2;
    return place;
  }

  async function round(stopping: AbortSignal): Promise<void> {
    const startedAt = now();
    let after = await held();
    if (after === undefined) return;
    const settledBefore = new Date(startedAt.getTime() - settlingMs);
    let passLimit = passAt;
    let counted = 0;
    for (let isAtEnd = false; !isAtEnd; passLimit = 0) {
      const found = await findUncounted(db.work, { after, settledBefore, limit: lookAt, passLimit });
      if (!(await count(found.inboxes, stopping))) return;
      counted += found.inboxes.length;
      isAtEnd = found.messages.count < lookAt && found.made.count < lookAt;
      place = settledPlace(place ?? after, found, passLimit);
      after = placeBehind(after, found);
    }
    if (counted === 0 && performance.now() < markMs) return;
    if (place !== undefined) await markCounted(db.work, holder, place, startedAt);
    markMs = performance.now() + idleMarkMs;
  }

  /** Counts these inboxes. Returns false if the round must end, because the service stops. */
  async function count(inboxes: Uncounted["inboxes"], stopping: AbortSignal): Promise<boolean> {
    for (const batch of batches(inboxes)) {
      for (let uncounted = batch; uncounted.length > 0; ) {
        if (stopping.aborted) return false;
        const startedMs = performance.now();
        const ids = uncounted;
        uncounted = await transaction(db.work, async (tx) => {
          await lockCounting(tx);
          return insertCounts(tx, ids, countAtOnce);
        });
        if (uncounted.length > 0) await pause(performance.now() - startedMs, stopping);
      }
    }
    return true;
  }

  return startRounds({
    pauseMs,
    round,
    failed: (err) => log.warn({ err }, "usage not counted; trying again"),
    release: () => releaseCounting(db.work, holder, now()),
  });
}

/** Splits inboxes into batches with about `countAtOnce` messages. */
function batches(inboxes: Uncounted["inboxes"]): string[][] {
  const all: string[][] = [];
  let left = 0;
  for (const { id, behind } of inboxes) {
    if (left <= 0) {
      all.push([]);
      left = countAtOnce;
    }
    all.at(-1)?.push(id);
    left -= behind + 1;
  }
  return all;
}

function settledPlace(place: CountingPlace, { messages, made, passed }: Uncounted, passLimit: number): CountingPlace {
  // The pass begins again behind the last inbox.
  const passedInboxId = passed.count < passLimit ? "" : (passed.lastId ?? place.passedInboxId);
  return {
    seenMessageId: laterOf(place.seenMessageId, messages.settledId),
    seenInboxId: laterOf(place.seenInboxId, made.settledId),
    passedInboxId,
  };
}

function placeBehind(place: CountingPlace, { messages, made }: Uncounted): CountingPlace {
  return {
    ...place,
    seenMessageId: messages.lastId ?? place.seenMessageId,
    seenInboxId: made.lastId ?? place.seenInboxId,
  };
}

function laterOf(id: string, other: string | null): string {
  return other !== null && other > id ? other : id;
}
