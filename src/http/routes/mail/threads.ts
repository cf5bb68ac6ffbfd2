import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Reach } from "../../../domain/access/access.ts";
import type { ThreadState } from "../../../domain/conversation.ts";
import { notFound } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { markThread } from "../../../flows/read/mark-thread.ts";
import { listedPage } from "../../../flows/read/page-messages.ts";
import { listThreadMessages } from "../../../store/mail/message-pages.ts";
import { findThread, listThreads } from "../../../store/mail/thread-pages.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { alsoNamed } from "../../judging/known-fields.ts";
import { api } from "../../shell/app.ts";
import { idPath, instant, nullable, oneOf, pageQuery, text, totalCount } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { includedWords, includeParameter } from "../../shell/parameters.ts";
import { inboxPath } from "../account/inboxes.ts";
import { ListedMessage, messageIncludes, toListedMessages } from "./message-shape.ts";
import { ownedTotals, type ReadingDeps } from "./messages.ts";

const Person = named(
  "Person",
  Type.Object(
    {
      address: Type.String({ description: "Its address", examples: [examples.sender] }),
      name: nullable(Type.String({ examples: [examples.senderName] }), {
        description: "The newest name that a mail of the thread gave to the address; null for none",
      }),
    },
    { description: "An address of a thread, with its name" },
  ),
);

const threadFields = {
  threadId: Type.String({ description: "Id of the thread", examples: [examples.threadId] }),
  id: Type.String({ description: "The same as `threadId`", examples: [examples.threadId] }),
  inboxId: Type.String({ description: "Inbox that it is in", examples: [examples.inboxId] }),
  subject: Type.String({ description: "Subject of its first message", examples: [examples.subject] }),
  isRead: Type.Boolean({ description: "False while it has unread mail", examples: [false] }),
  messageCount: Type.Integer({ minimum: 1, description: "How many messages it has", examples: [1] }),
  lastMessageAt: instant({ description: "When its last message was received or sent" }),
  lastMessageId: Type.String({ description: "Id of its last message", examples: [examples.messageId] }),
  createdAt: instant({ description: "When its first message was received or sent" }),
  participants: Type.Array(Type.String({ examples: [examples.sender] }), {
    description: "The first 20 addresses that wrote in it or were written to, without blind copies",
  }),
  preview: Type.String({
    description: "Up to 200 characters of the last message",
    examples: [examples.question],
  }),
  hasAttachments: Type.Boolean({ description: "Whether any message of it has files", examples: [true] }),
  people: Type.Array(Person, { description: "The `participants` in the same order, with their names" }),
};

const Thread = named("Thread", Type.Object(threadFields, { description: "A conversation in an inbox" }));

const ThreadMark = named(
  "ThreadMark",
  Type.Object(
    {
      is_read: alsoNamed("isRead", Type.Boolean({ description: "The flag to set", examples: [true] })),
      up_to_message_id: alsoNamed(
        "upToMessageId",
        Type.Optional(
          text({
            description: "The last message that you have seen. If newer mail has arrived, the thread stays unread",
            examples: [examples.messageId],
          }),
        ),
      ),
    },
    {
      description: "How to mark the thread",
      examples: [{ is_read: true }, { is_read: true, up_to_message_id: examples.messageId }],
    },
  ),
);

const MarkedThread = named(
  "MarkedThread",
  Type.Object(
    {
      ok: Type.Boolean({ description: "Always true", examples: [true] }),
      ...threadFields,
      isRead: { ...threadFields.isRead, examples: [true] },
      reason: Type.Optional(oneOf(["newer_inbound"], { description: "Why the thread stayed unread, if it did" })),
    },
    { description: "The thread as it is now" },
  ),
);

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

export function threads(deps: ReadingDeps) {
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
    .patch(
      "",
      async ({ account, actor, thread, body }) => {
        const marked = await markThread(deps, {
          reach: account.reach,
          actor,
          threadId: thread.id,
          isRead: body.is_read,
          upToMessageId: body.up_to_message_id,
        });
        return { ok: true, ...toThread(marked.thread), ...(marked.reason && { reason: marked.reason }) };
      },
      operation({
        summary: "Mark thread",
        access: "agent",
        description:
          "Marks the thread as read or unread. With `up_to_message_id`, the thread stays unread if newer mail has arrived, and `reason` is `newer_inbound`.",
        path: idPath("thread"),
        body: ThreadMark,
        answers: {
          200: MarkedThread,
        },
      }),
    );

  const ofInbox = api("/v1/inboxes/:id/threads", "Threads")
    .derive(async ({ account, params }) => ({
      totals: await ownedTotals(deps, account.reach, (params as { id: string }).id),
    }))
    .get(
      "",
      async ({ totals, query }) => {
        const isRead = query.is_read;
        const { threadCount, unreadCount } = totals;
        const total = isRead === undefined ? threadCount : isRead ? threadCount - unreadCount : unreadCount;
        const page = { inboxId: totals.id, isRead, total, limit: query.limit, offset: query.offset };
        return { data: (await listThreads(deps.db.api, page)).map(toThread), total };
      },
      operation({
        summary: "List threads",
        access: "read",
        description: "The thread with the latest message first. Listing changes no read flag.",
        path: inboxPath,
        query: Type.Object({
          ...pageQuery(),
          is_read: alsoNamed(
            "isRead",
            Type.Optional(Type.Boolean({ description: "Only read threads (`true`) or unread ones (`false`)" })),
          ),
        }),
        answers: {
          200: named(
            "ThreadPage",
            Type.Object(
              {
                data: Type.Array(Thread, { description: "Threads, the one with the latest message first" }),
                total: totalCount("How many threads there are in all"),
              },
              { description: "A page of threads, and how many there are in all" },
            ),
          ),
        },
      }),
    );

  return new Elysia().use(ofThread).use(ofInbox);
}

async function ownedThread(deps: ReadingDeps, reach: Reach, id: string): Promise<ThreadState> {
  const thread = isId("thr", id) ? await findThread(deps.db.api, reach, id) : undefined;
  if (thread === undefined) throw notFound("thread");
  return thread;
}

function toThread(thread: ThreadState) {
  const { id, inboxId, subject, isRead, messageCount, lastMessageAt, lastMessageId, createdAt } = thread;
  const { people, preview, hasAttachments } = thread;
  return {
    threadId: id,
    id,
    inboxId,
    subject,
    isRead,
    messageCount,
    lastMessageAt: lastMessageAt.toISOString(),
    lastMessageId,
    createdAt: createdAt.toISOString(),
    participants: people.map(({ address }) => address),
    preview,
    hasAttachments,
    // The database has its own order of fields.
    people: people.map(({ address, name }) => ({ address, name })),
  };
}
