import { type Db, transaction } from "../../database/db.ts";
import { type InboxTotals, withThread } from "../../domain/conversation.ts";
import type { NewEvent } from "../../domain/events/event-types.ts";
import { fileThread } from "../../domain/filing.ts";
import { canceledFailure } from "../../domain/outcome.ts";
import { endedDraft, resolvedEvents, type UnsentEnd } from "../../domain/send/decide-draft.ts";
import { type Draft, factsOfEvent, isOpen, recipientsOfDraft } from "../../domain/send/draft.ts";
import { blockChanges } from "../../domain/thread-blocks.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { changeBlocks } from "../../store/mail/thread-blocks.ts";
import { listThreadsOfInbox, markThreads } from "../../store/mail/threads.ts";
import {
  findLockedDraft,
  listUnsentIn,
  markDraft,
  removeContentOfDrafts,
  removeDrafts,
} from "../../store/send/drafts.ts";
import { deleteEventsOfUnsent } from "../../store/upkeep/removal.ts";
import type { Deps } from "../deps.ts";

/**
 * Ends an accepted draft behind the lock on its inbox, unless it has another state or version by now. A dispatch that has read the inbox
 * before is not written, because the revision of the inbox changes.
 */
export async function endDraft(
  deps: Pick<Deps, "db" | "now" | "newId" | "nudge" | "changes">,
  { id, inboxId, accountId, state, version }: Pick<Draft, "id" | "inboxId" | "accountId" | "state" | "version">,
  end: UnsentEnd,
): Promise<void> {
  const hasDeliveries = await transaction(deps.db.work, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const draft = await findLockedDraft(tx, id);
    if (draft?.state !== state || draft.version !== version) return false;
    return writeEnd(tx, deps, { inbox, draft, end, at: deps.now() });
  });
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId }]);
}

/**
 * Writes the end of a draft whose sending was accepted, with its events. If accepting it had marked its thread as read, the thread becomes
 * unread again, because the answer has not gone out. `inbox` is locked; undefined if it is deleted. Returns whether there are deliveries.
 */
export async function writeEnd(
  tx: Db,
  { newId }: Pick<Deps, "newId">,
  { inbox, draft, end, at }: { inbox: InboxTotals | undefined; draft: Draft; end: UnsentEnd; at: Date },
): Promise<boolean> {
  const ended = endedDraft(draft, end, at);
  await markDraft(tx, ended);
  if (inbox === undefined) return false;
  await markUnread(tx, inbox, draft, at);
  const resolved = resolvedEvents(draft, ended, newId("evt", at));
  return insertEvents(tx, [...resolved, failedEvent(ended, end, newId("evt", at))]);
}

function failedEvent(ended: Draft, { failure }: UnsentEnd, id: string): NewEvent<"message.failed"> {
  const { approval, updatedAt } = ended;
  const isUnapproved = approval !== null && approval.decision !== "approved";
  return {
    ...factsOfEvent(ended, id, updatedAt),
    type: "message.failed",
    data: {
      status: "failed",
      providerMessageId: null,
      recipients: recipientsOfDraft(ended),
      failure,
      ...(isUnapproved && { isUnapproved }),
    },
  };
}

async function markUnread(tx: Db, inbox: InboxTotals, draft: Draft, at: Date): Promise<void> {
  const [thread] = draft.madeRead ? await listThreadsOfInbox(tx, inbox.id, [draft.threadId]) : [];
  const after = thread && fileThread(thread, { isRead: false }, { upToSeq: undefined, at }).thread;
  if (thread === undefined || after === undefined || after === thread) return markInboxTotals(tx, [inbox]);
  await markThreads(tx, [after]);
  await changeBlocks(tx, blockChanges([{ before: thread, after }]));
  await markInboxTotals(tx, [withThread(inbox, thread, after)]);
}

/**
 * Ends the open drafts in removed threads, and removes the content and the events of those that have no message. As for all that is
 * removed, there is no event. Returns the ids of those that are canceled. The inbox is locked.
 */
export async function endDraftsIn(
  tx: Db,
  accountId: string,
  threadIds: readonly string[],
  at: Date,
): Promise<string[]> {
  const drafts = await listUnsentIn(tx, threadIds);
  const [unsent = [], kept = []] = [true, false].map((isDraft) =>
    drafts.filter(({ state }) => (state === "draft") === isDraft),
  );
  const canceled = kept.filter(({ state }) => isOpen(state));
  const end: UnsentEnd = { state: "canceled", failure: canceledFailure };
  for (const draft of canceled) await markDraft(tx, endedDraft(draft, end, at));
  const idsOf = (which: readonly Draft[]) => which.map(({ id }) => id);
  await removeDrafts(tx, idsOf(unsent));
  if (kept.length > 0) {
    await deleteEventsOfUnsent(tx, accountId, idsOf(kept));
    await removeContentOfDrafts(tx, idsOf(kept));
  }
  return idsOf(canceled);
}
