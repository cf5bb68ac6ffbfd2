import type { Db } from "../database/db.ts";
import { expiryOfKeys } from "../domain/idempotency.ts";
import { utcDay } from "../domain/limits.ts";
import type { Deps } from "../flows/deps.ts";
import { foldUsageBefore, insertCounts, lockCounting } from "../store/account/usage.ts";
import { releaseUploads, removeUploadsBefore } from "../store/mail/uploads.ts";
import { removeExpiredSuppressions } from "../store/send/suppressions.ts";
import {
  findInboxToEmpty,
  markInboxEmpty,
  type PrunedTo,
  pruneStep,
  removeAuditEntriesBefore,
  removeColdSendsBefore,
  removeEventsBefore,
  removeInboxes,
  removeInboxRows,
  removeKeysUsedBefore,
  removeMessages,
  removeOldRequests,
  removeUsedTokens,
} from "../store/upkeep/pruning.ts";
import { countAtOnce } from "./count-usage.ts";

export interface PruneDeps extends Deps {
  eventRetentionDays: number;
  /** 365 if it is left out. */
  auditRetentionDays?: number;
}

/** The most rows, messages and uploads that one step removes. A message or an upload may have megabytes. */
const stepRows = 500;
const stepMessages = 50;
const stepUploads = 20;
/** The most steps of each kind in one run. The rest waits for the next run, a minute later. */
const mostSteps = 100;
/** How long after its deletion an inbox is emptied. By then, work that was under way in it has ended. */
const settleMs = 60_000;
/** How long usage is kept by inbox. */
const usageByInboxDays = 62;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Removes rows that no request can reach any more, in small steps, so that no lock is held for long and the write-ahead log grows slowly.
 * Returns the number of removed rows.
 */
export async function prune(deps: PruneDeps, isStopping: () => boolean = () => false): Promise<number> {
  const now = deps.now();
  const eventsBefore = new Date(now.getTime() - deps.eventRetentionDays * dayMs);
  const auditBefore = new Date(now.getTime() - (deps.auditRetentionDays ?? 365) * dayMs);
  const steps: ((tx: Db) => Promise<number>)[] = [
    (tx) => removeKeysUsedBefore(tx, expiryOfKeys(now), stepRows),
    // Cold sends are kept a day longer than they count, in case the clock was ahead for a moment.
    (tx) => removeColdSendsBefore(tx, utcDay(new Date(now.getTime() - dayMs)), stepRows),
    (tx) => removeOldRequests(tx, stepRows),
    // Used tokens are kept an hour longer than they are valid, in case the clock was ahead for a moment.
    (tx) => removeUsedTokens(tx, new Date(now.getTime() - hourMs), stepRows),
    (tx) => releaseUploads(tx, now, stepUploads),
    (tx) => removeUploadsBefore(tx, expiryOfKeys(now), stepRows),
    (tx) => removeExpiredSuppressions(tx, now, stepRows),
    (tx) => foldUsageBefore(tx, utcDay(new Date(now.getTime() - usageByInboxDays * dayMs)), stepRows),
    removingEvents(eventsBefore),
    (tx) => removeAuditEntriesBefore(tx, auditBefore, stepRows),
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

/** Removes old events, oldest first. Skips those that must stay (see `removeEventsBefore`). */
function removingEvents(before: Date): (tx: Db) => Promise<number> {
  let after: PrunedTo | undefined;
  return async (tx) => {
    const { removed, prunedTo } = await removeEventsBefore(tx, { before, after, limit: stepRows });
    after = prunedTo;
    return prunedTo === undefined ? 0 : Math.max(1, removed);
  };
}

/** Empties deleted inboxes one by one: the messages, then the rest. */
function emptyingInboxes(deletedBefore: Date): (tx: Db) => Promise<number> {
  let after = "";
  return async (tx) => {
    const inboxId = await findInboxToEmpty(tx, deletedBefore, after);
    if (inboxId === undefined) return 0;
    // What is removed stays counted: its usage is counted before, if it was not yet.
    await lockCounting(tx);
    if ((await insertCounts(tx, [inboxId], countAtOnce)).length > 0) return 1;
    const removed = (await removeMessages(tx, inboxId, stepMessages)) || (await removeInboxRows(tx, inboxId, stepRows));
    if (removed > 0) return removed;
    await markInboxEmpty(tx, inboxId);
    after = inboxId;
    return 1;
  };
}
