import type { Db } from "../database/db.ts";
import { expiryOfKeys } from "../domain/idempotency.ts";
import { utcDay } from "../domain/limits.ts";
import type { Deps } from "../flows/deps.ts";
import { releaseUploads, removeUploadsBefore } from "../store/mail/uploads.ts";
import { removeExpiredSuppressions } from "../store/send/suppressions.ts";
import {
  findInboxToEmpty,
  markInboxEmpty,
  type PrunedTo,
  pruneStep,
  removeColdSendsBefore,
  removeEventsBefore,
  removeInboxes,
  removeInboxRows,
  removeKeysUsedBefore,
  removeMessages,
  removeOldRequests,
  removeUsedTokens,
} from "../store/upkeep/pruning.ts";

export interface PruneDeps extends Deps {
  eventRetentionDays: number;
}

/** Rows of a step, and messages of one, which may hang on megabytes. */
const stepRows = 500;
const stepMessages = 50;
const stepUploads = 20;
/** So much of each in one go; what is left waits a minute. */
const mostSteps = 100;
/** What was under way when an inbox was deleted has ended after this. */
const settleMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Removes what nobody can ask for any more, in small steps, so that no lock is held for long and the log of changes grows
 * slowly. Answers how many rows went.
 */
export async function prune(deps: PruneDeps, isStopping: () => boolean = () => false): Promise<number> {
  const now = deps.now();
  const eventsBefore = new Date(now.getTime() - deps.eventRetentionDays * dayMs);
  const steps: ((tx: Db) => Promise<number>)[] = [
    (tx) => removeKeysUsedBefore(tx, expiryOfKeys(now), stepRows),
    // A day longer than they count, lest a clock that is ahead for a moment takes what counts today.
    (tx) => removeColdSendsBefore(tx, utcDay(new Date(now.getTime() - dayMs)), stepRows),
    (tx) => removeOldRequests(tx, stepRows),
    // An hour longer, so that a clock that is ahead for a moment lets no token count twice.
    (tx) => removeUsedTokens(tx, new Date(now.getTime() - hourMs), stepRows),
    (tx) => releaseUploads(tx, now, stepUploads),
    (tx) => removeUploadsBefore(tx, expiryOfKeys(now), stepRows),
    (tx) => removeExpiredSuppressions(tx, now, stepRows),
    removingEvents(eventsBefore),
    emptyingInboxes(new Date(now.getTime() - settleMs)),
    (tx) => removeInboxes(tx, now, stepRows),
  ];
  let removed = 0;
  for (const step of steps) {
    for (let count = 0; count < mostSteps; count += 1) {
      if (isStopping()) return removed;
      const rows = await pruneStep(deps.db.work, step);
      if (rows === undefined || rows === 0) break;
      removed += rows;
    }
  }
  return removed;
}

/** The oldest first, past those that stay. */
function removingEvents(before: Date): (tx: Db) => Promise<number> {
  let after: PrunedTo | undefined;
  return async (tx) => {
    const { removed, prunedTo } = await removeEventsBefore(tx, { before, after, limit: stepRows });
    after = prunedTo;
    return prunedTo === undefined ? 0 : Math.max(1, removed);
  };
}

/** One deleted inbox after the other: its messages, then the rest. */
function emptyingInboxes(deletedBefore: Date): (tx: Db) => Promise<number> {
  let after = "";
  return async (tx) => {
    const inboxId = await findInboxToEmpty(tx, deletedBefore, after);
    if (inboxId === undefined) return 0;
    const removed = (await removeMessages(tx, inboxId, stepMessages)) || (await removeInboxRows(tx, inboxId, stepRows));
    if (removed > 0) return removed;
    await markInboxEmpty(tx, inboxId);
    after = inboxId;
    return 1;
  };
}
