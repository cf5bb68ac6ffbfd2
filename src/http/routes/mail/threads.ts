import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Reach } from "../../../domain/access/access.ts";
import type { ThreadState } from "../../../domain/conversation.ts";
import { cursorAt } from "../../../domain/cursor.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { folders } from "../../../domain/folders.ts";
import { isId } from "../../../domain/ids.ts";
import { labelOf, labelRule } from "../../../domain/labels.ts";
import { type RemovingDeps, removeThread } from "../../../flows/account/remove-messages.ts";
import { fileThreads } from "../../../flows/read/file-threads.ts";
import { listedPage } from "../../../flows/read/page-messages.ts";
import { pageThreads, type ThreadsQuery } from "../../../flows/read/page-threads.ts";
import { listLabels } from "../../../store/mail/labels.ts";
import { listThreadMessages } from "../../../store/mail/message-pages.ts";
import { findThread, type ShownThread } from "../../../store/mail/thread-pages.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { idPath, nextCursor, nothing, oneOf, pageQuery, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import {
  cursorParameter,
  cursorSeq,
  includedWords,
  includeParameter,
  parameter,
  wrongParameter,
} from "../../shell/parameters.ts";
import { inboxPath } from "../account/inboxes.ts";
import { ListedMessage, messageIncludes, toListedMessages } from "./message-shape.ts";
import { ownedTotals, type ReadingDeps } from "./messages.ts";
import {
  ChangedThread,
  FiledThreads,
  readChange,
  readChanges,
  Thread,
  ThreadChange,
  ThreadsChange,
  threadFields,
  toThread,
} from "./thread-shape.ts";

const ThreadMessages = named(
  "ThreadMessages",
  Type.Object(
    {
      threadId: threadFields.threadId,
      subject: threadFields.subject,
      isRead: threadFields.isRead,
      data: Type.Array(ListedMessage, { description: "Messages, oldest first" }),
      total: totalCount("How many messages the thread has"),
    },
    { description: "A page of the thread's messages, and how many there are in all" },
  ),
);

const ThreadsParameters = Type.Object({
  ...pageQuery(),
  is_read: alsoNamed(
    "isRead",
    Type.Optional(Type.Boolean({ description: "Only read threads (`true`) or unread ones (`false`)" })),
  ),
  folder: Type.Optional(
    oneOf([...folders, "all"], {
      description: "The folder, by default `inbox`; `all` lists the threads of all folders",
    }),
  ),
  label: Type.Optional(
    parameter((name) => labelOf(name) !== undefined, {
      error: labelRule,
      description: "Only threads with this label, of all folders but `trash`; not together with `folder`",
      examples: ["orders"],
    }),
  ),
  cursor: Type.Optional(cursorParameter()),
});

const LabelList = named(
  "LabelList",
  Type.Object(
    {
      data: Type.Array(
        named(
          "Label",
          Type.Object(
            {
              label: Type.String({ description: "Its name", examples: ["orders"] }),
              threadCount: Type.Integer({
                minimum: 1,
                description: "How many threads outside the trash have it",
                examples: [1],
              }),
              unreadCount: Type.Integer({ minimum: 0, description: "How many of these are unread", examples: [1] }),
            },
            { description: "A label of an inbox" },
          ),
        ),
        { description: "Labels, by name" },
      ),
    },
    { description: "The labels of an inbox" },
  ),
);

export function threads(deps: ReadingDeps & Pick<RemovingDeps, "removed">) {
  const ofThread = api("/v1/threads/:id", "Threads")
    .derive(async ({ account, params }) => ({
      thread: await ownedThread(deps, account.reach, (params as { id: string }).id),
    }))
    .get(
      "/messages",
      async ({ account, thread, query: { limit, offset, include } }) => {
        const { id, subject, isRead, messageCount } = thread;
        const { api: db } = deps.db;
        const found = await listThreadMessages(db, { threadId: id, total: messageCount, limit, offset });
        const messages = await listedPage(db, found);
        const data = await toListedMessages(deps, account.id, { messages, include: includedWords(include) });
        return { threadId: id, subject, isRead, data, total: messageCount };
      },
      operation({
        summary: "List messages of thread",
        access: "read",
        description:
          "Oldest first. Reading a thread does not mark it as read. A page ends early at about 8 MiB of bodies: continue at `offset` plus the number of messages that came. A body over 256 KiB is cut (`truncated`), and at most 50 attachments of a message are shown; the single message has everything.",
        path: idPath("thread"),
        query: Type.Object({ ...pageQuery(100), include: Type.Optional(includeParameter(messageIncludes)) }),
        answers: {
          200: ThreadMessages,
        },
      }),
    )
    .get(
      "",
      ({ thread }) => toThread(thread),
      operation({
        summary: "Get thread",
        access: "read",
        description: "One thread. Reading it does not mark it as read.",
        path: idPath("thread"),
        answers: { 200: Thread },
      }),
    )
    .patch(
      "",
      async ({ account, actor, thread, body: { seen: upToMessageId, ...change } }) => {
        const { id, inboxId } = thread;
        const threads = [{ id, upToMessageId }];
        const [filed] = await fileThreads(deps, { accountId: account.id, actor, inboxId, threads, change });
        if (filed === undefined) throw notFound("thread");
        const lastMessageAt = filed.thread.lastMessageAt.toISOString();
        const { createdAt, draftCount } = thread;
        return {
          ok: true,
          ...toThread({ ...filed.thread, createdAt, lastMessageAt, draftCount }),
          ...(filed.reason && { reason: filed.reason }),
        };
      },
      operation({
        summary: "Change thread",
        access: "agent",
        description:
          "Marks the thread as read or unread, puts it into a folder, and changes its labels and metadata. With `up_to_message_id`, the thread stays unread and in the inbox if newer mail has arrived, and `reason` is `newer_inbound`; its labels and metadata change nevertheless.",
        path: idPath("thread"),
        body: ThreadChange,
        readFields: readChange,
        refuses: ["label_limit"],
        answers: {
          200: ChangedThread,
        },
      }),
    )
    .delete(
      "",
      async ({ account, actor, thread, set }) => {
        set.status = (await removeThread(deps, { ...account.reach, actor }, thread.id)) ? 204 : 202;
      },
      operation({
        summary: "Delete thread",
        access: "full",
        description:
          "Removes all of its messages, as their own deletion does. A thread of more than 1,000 messages is not found any more at once, and its messages go in the background (202). Mail that answers a deleted thread starts a new one, and its open drafts are canceled. A thread with mail that is not sent yet cannot be deleted: cancel that mail first.",
        path: idPath("thread"),
        refuses: ["send_in_progress"],
        answers: { 202: nothing("Not found any more; its messages are being deleted"), 204: nothing("Deleted") },
      }),
    );

  const ofInbox = api("/v1/inboxes/:id", "Threads")
    .derive(async ({ account, params }) => ({
      totals: await ownedTotals(deps, account.reach, (params as { id: string }).id),
    }))
    .get(
      "/threads",
      async ({ totals, query }) => {
        const { threads, total, next } = await pageThreads(deps.db.api, totals, askedOf(totals.id, query));
        const nextCursor = next === undefined ? null : cursorAt(next, questionOf(totals.id, query));
        return { data: threads.map(toThread), total, nextCursor };
      },
      operation({
        summary: "List threads",
        access: "read",
        description:
          "The threads in a folder, by default `inbox`, or with a label; the one with the latest message first. Listing changes no read flag. `cursor` continues after a page and does not repeat a thread; one that gets mail meanwhile moves to the first page.",
        path: inboxPath,
        query: ThreadsParameters,
        answers: {
          200: named(
            "ThreadPage",
            Type.Object(
              {
                data: Type.Array(Thread, { description: "Threads, the one with the latest message first" }),
                total: totalCount("How many threads the list has in all"),
                nextCursor: nextCursor(),
              },
              { description: "A page of threads, and how many there are in all" },
            ),
          ),
        },
      }),
    )
    .patch(
      "/threads",
      async ({ account, actor, totals, body }) => {
        const filed = await fileThreads(deps, { accountId: account.id, actor, inboxId: totals.id, ...body });
        return { data: filed.map(({ thread, reason }) => ({ ...toFiled(thread), ...(reason && { reason }) })) };
      },
      operation({
        summary: "Change threads",
        access: "agent",
        description:
          "Changes up to 100 threads of the inbox at once, as `Change thread` does: all, or none if one of them cannot be changed.",
        path: inboxPath,
        body: ThreadsChange,
        readFields: readChanges,
        refuses: ["label_limit"],
        answers: { 200: FiledThreads },
      }),
    )
    .get(
      "/labels",
      async ({ totals }) => ({ data: await listLabels(deps.db.api, totals.id) }),
      operation({
        summary: "List labels",
        access: "read",
        description: "The labels of the threads of the inbox that are not in the trash, by name.",
        path: inboxPath,
        answers: { 200: LabelList },
      }),
    );

  return new Elysia().use(ofThread).use(ofInbox);
}

type Parameters = Static<typeof ThreadsParameters>;

function askedOf(inboxId: string, query: Parameters): ThreadsQuery {
  const { folder, is_read: isRead, limit, offset, cursor } = query;
  if (folder !== undefined && query.label !== undefined) {
    throw wrongParameter("folder", 'must be left out with "label"', "list threads");
  }
  const after = cursor === undefined ? undefined : cursorSeq(cursor, questionOf(inboxId, query), "list threads");
  if (after instanceof Refusal) throw after;
  const label = query.label === undefined ? undefined : labelOf(query.label);
  return { folder: folder ?? "inbox", label, isRead, limit, offset, after };
}

/** The list of a cursor, with its filters. */
function questionOf(inboxId: string, { folder = "inbox", label, is_read: isRead }: Parameters) {
  return ["threads", inboxId, folder, label === undefined ? null : labelOf(label), isRead ?? null];
}

function toFiled({ id, isRead, folder, labels }: ThreadState) {
  return { id, isRead, folder, labels: [...labels] };
}

async function ownedThread(deps: ReadingDeps, reach: Reach, id: string): Promise<ShownThread> {
  const thread = isId("thr", id) ? await findThread(deps.db.api, reach, id) : undefined;
  if (thread === undefined) throw notFound("thread");
  return thread;
}
