import { type Db, transaction } from "../../database/db.ts";
import { type InboxTotals, withThread } from "../../domain/conversation.ts";
import { fileThread } from "../../domain/filing.ts";
import { canceledFailure } from "../../domain/outcome.ts";
import { type Draft, isOpen } from "../../domain/send/draft.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { listThreadsOfInbox, markThreads } from "../../store/mail/threads.ts";
import {
  findLockedDraft,
  listUnsentIn,
  markDraftEnded,
  removeContentOfDrafts,
  removeDrafts,
} from "../../store/send/drafts.ts";
import type { Deps } from "../deps.ts";

/** How a scheduled draft ends without being sent. */
export type UnsentEnd = Pick<Draft, "failure"> & { state: "canceled" | "failed" };

/**
 * Ends a scheduled draft behind the lock on its inbox, unless it has another state or version by now. A dispatch that has read the inbox
 * before is not written, because the revision of the inbox changes.
 */
export async function endDraft(
  deps: Pick<Deps, "db" | "now" | "changes">,
  { id, inboxId, accountId, version }: Pick<Draft, "id" | "inboxId" | "accountId" | "version">,
  end: UnsentEnd,
): Promise<void> {
  await transaction(deps.db.work, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const draft = await findLockedDraft(tx, id);
    if (draft?.state !== "scheduled" || draft.version !== version) return;
    await writeEnd(tx, inbox, draft, end, deps.now());
  });
  deps.changes.notify([{ accountId, inboxId }]);
}

/**
 * Writes the end of a draft. If accepting it had marked its thread as read, the thread becomes unread again, because the answer has not
 * gone out. `inbox` is locked; undefined if it is deleted or its thread is removed, and then no total is written.
 */
export async function writeEnd(
  tx: Db,
  inbox: InboxTotals | undefined,
  draft: Draft,
  { state, failure }: UnsentEnd,
  at: Date,
): Promise<void> {
  await markDraftEnded(tx, { id: draft.id, state, failure, at });
  if (inbox === undefined) return;
  const [thread] = draft.madeRead ? await listThreadsOfInbox(tx, inbox.id, [draft.threadId]) : [];
  const after = thread && fileThread(thread, { isRead: false }, { upToSeq: undefined, at }).thread;
  if (thread === undefined || after === undefined || after === thread) return markInboxTotals(tx, [inbox]);
  await markThreads(tx, [after]);
  await markInboxTotals(tx, [withThread(inbox, thread, after)]);
}

/**
 * Ends the open drafts in removed threads, and removes the content of those that have no message. Returns the ids of those that are
 * canceled. The inbox is locked.
 */
export async function endDraftsIn(tx: Db, threadIds: readonly string[], at: Date): Promise<string[]> {
  const drafts = await listUnsentIn(tx, threadIds);
  const [unsent = [], kept = []] = [true, false].map((isDraft) =>
    drafts.filter(({ state }) => (state === "draft") === isDraft),
  );
  const canceled = kept.filter(({ state }) => isOpen(state));
  for (const draft of canceled)
    await writeEnd(tx, undefined, draft, { state: "canceled", failure: canceledFailure }, at);
  const idsOf = (which: readonly Draft[]) => which.map(({ id }) => id);
  await removeDrafts(tx, idsOf(unsent));
  if (kept.length > 0) await removeContentOfDrafts(tx, idsOf(kept));
  return idsOf(canceled);
}
