import { transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { withThread } from "../../domain/conversation.ts";
import { notFound } from "../../domain/errors.ts";
import { type FiledThread, filedChanges, fileThread, shownLabels, type ThreadChange } from "../../domain/filing.ts";
import { isId } from "../../domain/ids.ts";
import { labelsOfInboxAfter } from "../../domain/labels.ts";
import { blockChanges } from "../../domain/thread-blocks.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { listLabels, removeLabels } from "../../store/mail/labels.ts";
import { changeBlocks } from "../../store/mail/thread-blocks.ts";
import { listThreadsOfInbox, markThreads } from "../../store/mail/threads.ts";
import { listNumberedMessages } from "../../store/send/send-facts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

export interface FileRequest {
  accountId: string;
  actor: Actor;
  /** An inbox that the caller reaches. */
  inboxId: string;
  /** The threads to file, each once, with the last message that the caller has seen. */
  threads: readonly { id: string; upToMessageId?: string | undefined }[];
  change: ThreadChange;
}

/**
 * Files threads of one inbox, all or none. It locks the inbox, so that mail that arrives at the same time is stored either before or after
 * this change. Returns the threads in the order of the request.
 */
export async function fileThreads(
  deps: Pick<Deps, "db" | "now" | "newId">,
  { accountId, actor, inboxId, threads: asked, change }: FileRequest,
): Promise<FiledThread[]> {
  const ids = asked.map(({ id }) => id);
  if (!ids.every((id) => isId("thr", id))) throw notFound("thread");
  const at = deps.now();
  return transaction(deps.db.api, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const [threads, seen, labels] = await Promise.all([
      listThreadsOfInbox(tx, inboxId, ids),
      listNumberedMessages(
        tx,
        asked.flatMap(({ upToMessageId }) => upToMessageId ?? []),
      ),
      change.addLabels?.length ? listLabels(tx, inboxId) : [],
    ]);
    const threadOf = new Map(threads.map((thread) => [thread.id, thread]));
    const filed = asked.map(({ id, upToMessageId }) => {
      const before = threadOf.get(id);
      if (before === undefined) throw notFound("thread");
      const message = seen.find((each) => each.id === upToMessageId);
      if (upToMessageId !== undefined && message?.threadId !== id) throw notFound("message");
      return { before, ...fileThread(before, change, { upToSeq: message?.seq, at }) };
    });
    const changed = filed.filter(({ before, thread }) => before !== thread);
    if (inbox === undefined || changed.length === 0) return filed;
    const added = changed.flatMap(({ thread }) => shownLabels(thread));
    labelsOfInboxAfter(
      new Set(labels.map(({ label }) => label)),
      change.addLabels?.length ? added : [],
      "change thread",
    );
    const after = changed.map(({ thread }) => thread);
    const removed = changed.flatMap(({ before, thread }) => {
      const kept = shownLabels(thread);
      const lost = shownLabels(before).filter((label) => !kept.includes(label));
      return lost.map((label) => ({ threadId: thread.id, label }));
    });
    const totals = changed.reduce((sums, { before, thread }) => withThread(sums, before, thread), inbox);
    await Promise.all([
      markThreads(tx, after),
      removeLabels(tx, inboxId, removed),
      changeBlocks(tx, blockChanges(changed.map(({ before, thread }) => ({ before, after: thread })))),
      markInboxTotals(tx, [totals]),
      audit(
        tx,
        deps,
        at,
        ...changed.map(({ before, thread }) => ({
          accountId,
          actor,
          target: { type: "thread", id: thread.id } as const,
          action: before.isRead === thread.isRead ? ("thread.filed" as const) : ("thread.marked" as const),
          details: filedChanges(before, thread),
        })),
      ),
    ]);
    return filed;
  });
}
