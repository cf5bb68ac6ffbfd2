import type { Db } from "../database/db.ts";
import { expiryOfKeys } from "../domain/idempotency.ts";
import { utcDay } from "../domain/limits.ts";
import { boundAt, endsBefore } from "../domain/partitions.ts";
import { addressReservedMs } from "../flows/account/delete-inbox.ts";
import { endUnusedGrants } from "../flows/connect/grants.ts";
import type { Deps } from "../flows/deps.ts";
import { removeDeletedDomains, removeKeysOfDeletedDomains, removeRetiredKeys } from "../store/account/domains.ts";
import { removeUnusedClients } from "../store/account/oauth-clients.ts";
import { foldUsageBefore } from "../store/account/usage.ts";
import { listExpiredQuarantined, listSurplusQuarantined, removeQuarantined } from "../store/mail/quarantine.ts";
import { releaseUploads, removeUploadsBefore } from "../store/mail/uploads.ts";
import { removeContentOfFinalDrafts, removeForgottenDrafts } from "../store/send/drafts.ts";
import { removeLettersBefore } from "../store/send/letters.ts";
import { removeExpiredSuppressions } from "../store/send/suppressions.ts";
import { closeInboxes, findDeletedAccount, removeRowsOfAccount } from "../store/upkeep/deleted-accounts.ts";
import { listPartitions } from "../store/upkeep/partitions.ts";
import {
  forgetRemovedBefore,
  type PrunedTo,
  pruneStep,
  removeAuditEntriesBefore,
  removeColdSendsBefore,
  removeEventsBefore,
  removeFreeAddresses,
  removeKeysUsedBefore,
  removeOldRequests,
  removeUsedTokens,
} from "../store/upkeep/pruning.ts";
import { eraseInboxes } from "./remove-mail.ts";

export interface PruneDeps extends Deps {
  eventRetentionDays: number;
  /** 365 if it is left out. */
  auditRetentionDays?: number;
}

/** The most rows and uploads that one step removes. An upload may have megabytes. */
const stepRows = 500;
const stepUploads = 20;
/** The most quarantined mails of an inbox. */
const mostQuarantined = 10_000;
/** The most steps of each kind in one run. The rest waits for the next run, a minute later. */
const mostSteps = 100;
/** How long usage is kept by inbox. */
const usageByInboxDays = 62;
/** How long a draft that nobody sends is kept, and the content of a draft that is sent or over. */
const forgottenDraftDays = 90;
const finalContentDays = 30;
/** How long the Message-IDs of removed messages are kept. Senders repeat a mail for about a week. */
const removedKnownDays = 30;
/** How long after its deletion an account is removed. By then, work that was under way in it has ended. */
const settleMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Removes rows that no request can reach any more, in small steps, so that no lock is held for long and the write-ahead log grows slowly.
 * Returns the number of removed rows.
 */
export async function prune(deps: PruneDeps, isStopping: () => boolean = () => false): Promise<number> {
  const now = deps.now();
  const daysAgo = (days: number) => new Date(now.getTime() - days * dayMs);
  const eventsBefore = new Date(now.getTime() - deps.eventRetentionDays * dayMs);
  const auditBefore = new Date(now.getTime() - (deps.auditRetentionDays ?? 365) * dayMs);
  const steps: ((tx: Db) => Promise<number>)[] = [
    (tx) => removeKeysUsedBefore(tx, expiryOfKeys(now), stepRows),
    // Cold sends are kept a day longer than they count, in case the clock was ahead for a moment.
    (tx) => removeColdSendsBefore(tx, utcDay(new Date(now.getTime() - dayMs)), stepRows),
    (tx) => forgetRemovedBefore(tx, new Date(now.getTime() - removedKnownDays * dayMs), stepRows),
    (tx) => removeOldRequests(tx, stepRows),
    // Used tokens are kept an hour longer than they are valid, in case the clock was ahead for a moment.
    (tx) => removeUsedTokens(tx, new Date(now.getTime() - hourMs), stepRows),
    (tx) => releaseUploads(tx, now, stepUploads),
    (tx) => removeUploadsBefore(tx, expiryOfKeys(now), stepRows),
    (tx) => removeExpiredSuppressions(tx, now, stepRows),
    (tx) => removeForgottenDrafts(tx, daysAgo(forgottenDraftDays), stepRows),
    (tx) => removeContentOfFinalDrafts(tx, daysAgo(finalContentDays), stepRows),
    // The pause between two letters to an approver is a minute.
    (tx) => removeLettersBefore(tx, new Date(now.getTime() - hourMs), stepRows),
    async (tx) => removeListed(tx, await listExpiredQuarantined(tx, now, stepRows)),
    async (tx) => removeListed(tx, await listSurplusQuarantined(tx, mostQuarantined, stepRows)),
    (tx) => foldUsageBefore(tx, utcDay(new Date(now.getTime() - usageByInboxDays * dayMs)), stepRows),
    (tx) => endUnusedGrants(deps, tx, stepRows),
    (tx) => removeUnusedClients(tx, new Date(now.getTime() - dayMs), stepRows),
    (tx) => removeRetiredKeys(tx, now),
    removeKeysOfDeletedDomains,
    removeDeletedDomains,
    removingEvents(eventsBefore, await endOfPrunedEvents(deps.db.work, eventsBefore)),
    (tx) => removeAuditEntriesBefore(tx, auditBefore, stepRows),
    removingAccounts(now),
    (tx) => removeFreeAddresses(tx, now, stepRows),
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
  return removed + (await eraseInboxes(deps, isStopping));
}

async function removeListed(tx: Db, ids: readonly string[]): Promise<number> {
  return ids.length === 0 ? 0 : (await removeQuarantined(tx, ids)).length;
}

/** Removes deleted accounts one by one: first their inboxes become deleted ones, then other rows go, then the account. */
function removingAccounts(now: Date): (tx: Db) => Promise<number> {
  const before = new Date(now.getTime() - settleMs);
  const heldUntil = new Date(now.getTime() + addressReservedMs);
  let after = "";
  return async (tx) => {
    for (;;) {
      const accountId = await findDeletedAccount(tx, before, after);
      if (accountId === undefined) return 0;
      const removed =
        (await closeInboxes(tx, { accountId, now, heldUntil, limit: stepRows })) ||
        (await removeRowsOfAccount(tx, accountId, now, stepRows));
      if (removed > 0) return removed;
      after = accountId;
    }
  };
}

/**
 * The end of the partitions whose events are removed row by row. Undefined if those of all are. Otherwise they are the first one, and those
 * that should have been dropped a day, week or month ago but could not be.
 */
async function endOfPrunedEvents(db: Db, before: Date): Promise<string | undefined> {
  const partitions = await listPartitions(db);
  const events = partitions.get("events");
  if (events === undefined || !partitions.has("deliveries")) return undefined;
  const overdue = endsBefore(events, before).at(-2);
  return overdue === undefined ? events[0]?.to : boundAt("events", overdue);
}

/** Removes old events, oldest first. Skips those that must stay (see `removeEventsBefore`). */
function removingEvents(before: Date, below: string | undefined): (tx: Db) => Promise<number> {
  let after: PrunedTo | undefined;
  return async (tx) => {
    const { removed, prunedTo } = await removeEventsBefore(tx, { before, after, below, limit: stepRows });
    after = prunedTo;
    return prunedTo === undefined ? 0 : Math.max(1, removed);
  };
}
