import { transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { type Marked, markRead } from "../../domain/conversation.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { findThread } from "../../store/mail/thread-pages.ts";
import { findThreadState, markThreads } from "../../store/mail/threads.ts";
import { listNumberedMessages } from "../../store/send/send-facts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

export interface MarkRequest {
  reach: Reach;
  actor: Actor;
  threadId: string;
  isRead: boolean;
  /** The last message that the caller has seen. */
  upToMessageId: string | undefined;
}

/**
 * Marks the messages of a thread as read or unread. It locks the inbox, so that mail that arrives at the same time is filed either before
 * or after this change.
 */
export async function markThread(deps: Pick<Deps, "db" | "now" | "newId">, request: MarkRequest): Promise<Marked> {
  const { db } = deps;
  const { reach, actor, threadId, isRead, upToMessageId } = request;
  const known = isId("thr", threadId) ? await findThread(db.api, reach, threadId) : undefined;
  if (known === undefined) throw notFound("thread");
  return transaction(db.api, async (tx) => {
    const [[inbox], thread, [message]] = await Promise.all([
      lockInboxes(tx, [known.inboxId]),
      findThreadState(tx, known.inboxId, threadId),
      listNumberedMessages(tx, upToMessageId === undefined ? [] : [upToMessageId]),
    ]);
    if (inbox === undefined || thread === undefined) throw notFound("thread");
    if (upToMessageId !== undefined && message?.threadId !== threadId) throw notFound("message");
    const marked = markRead(thread, isRead, message?.seq);
    if (marked.thread.isRead === thread.isRead) return marked;
    const unreadCount = inbox.unreadCount + (isRead ? -1 : 1);
    const entry = { accountId: reach.accountId, actor, target: { type: "thread", id: threadId } } as const;
    await Promise.all([
      markThreads(tx, [marked.thread]),
      markInboxTotals(tx, [{ ...inbox, unreadCount }]),
      audit(tx, deps, deps.now(), { ...entry, action: "thread.marked", details: { isRead } }),
    ]);
    return marked;
  });
}
