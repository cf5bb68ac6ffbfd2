import { type Db, transaction } from "../../database/db.ts";
import { type InboxTotals, withThread } from "../../domain/conversation.ts";
import { fileThread } from "../../domain/filing.ts";
import type { Draft } from "../../domain/send/draft.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { listThreadsOfInbox, markThreads } from "../../store/mail/threads.ts";
import { findLockedDraft, markDraftEnded } from "../../store/send/drafts.ts";
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
 * gone out. `inbox` is locked; undefined if it is deleted.
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
