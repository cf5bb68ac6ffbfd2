import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { ThreadState } from "../../domain/conversation.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { listedPage } from "../../flows/read/listed-page.ts";
import { markThread } from "../../flows/read/mark-thread.ts";
import { listThreadMessages } from "../../store/mail/message-pages.ts";
import { findThread, listThreads } from "../../store/mail/thread-pages.ts";
import { alsoNamed } from "../judging/also-named.ts";
import { api } from "../shell/app.ts";
import { idPath, instant, oneOf, pageQuery, text } from "../shell/models.ts";
import { operation } from "../shell/operation.ts";
import { inboxPath } from "./inboxes.ts";
import { Message, toMessages } from "./message-shape.ts";
import { ownedTotals, type ReadingDeps } from "./messages.ts";

const ThreadShape = {
  threadId: Type.String({ examples: ["thr_01jpw7z1x2e9a8r5k3m0t6vqhe"] }),
  id: Type.String({ description: "The same as `threadId`", examples: ["thr_01jpw7z1x2e9a8r5k3m0t6vqhe"] }),
  inboxId: Type.String({ examples: ["inb_01jpw7z1x2e9a8r5k3m0t6vqhc"] }),
  subject: Type.String({ examples: ["Your order"] }),
  isRead: Type.Boolean({ examples: [false] }),
  messageCount: Type.Integer({ examples: [2] }),
  lastMessageAt: instant(),
  lastMessageId: Type.String({ examples: ["msg_01jpw7z1x2e9a8r5k3m0t6vqhd"] }),
  createdAt: instant(),
  participants: Type.Array(Type.String({ examples: ["jane@example.com"] })),
  preview: Type.String({ description: "Up to 200 characters of the last message", examples: ["Where is it?"] }),
  hasAttachments: Type.Boolean({ examples: [false] }),
};

const MarkBody = Type.Object({
  is_read: alsoNamed("isRead", Type.Boolean({ description: "The flag to set", examples: [true] })),
  up_to_message_id: alsoNamed(
    "upToMessageId",
    Type.Optional(
      text({
        description: "The last message that you have seen: when newer mail has come in, the thread stays unread",
        examples: ["msg_01jpw7z1x2e9a8r5k3m0t6vqhd"],
      }),
    ),
  ),
});

export function threads(deps: ReadingDeps) {
  const ofThread = api("/v1/threads/:id", "Threads")
    .derive(async ({ account, params }) => ({
      thread: await ownedThread(deps, account.id, (params as { id: string }).id),
    }))
    .get(
      "/messages",
      async ({ thread, query: { limit, offset } }) => {
        const { id, subject, isRead, messageCount } = thread;
        const { api: db } = deps.db;
        const found = await listThreadMessages(db, { threadId: id, total: messageCount, limit, offset });
        const data = await toMessages(deps.links, deps.now(), await listedPage(db, found));
        return { threadId: id, subject, isRead, data, total: messageCount };
      },
      operation({
        summary: "List messages of thread",
        description:
          "Oldest first. Reading a thread does not mark it as read. A page ends early where its bodies are more than about 8 MiB: go on at `offset` and as many as came. A body over 256 KiB is cut there (`truncated`) and at most 50 attachments of a message are shown: the single message has all.",
        path: idPath("thr", "thread"),
        query: Type.Object(pageQuery(100)),
        answers: {
          200: Type.Object(
            {
              threadId: ThreadShape.threadId,
              subject: ThreadShape.subject,
              isRead: ThreadShape.isRead,
              data: Type.Array(Message),
              total: Type.Integer({ examples: [1] }),
            },
            { description: "A page of the thread's messages, and how many there are in all" },
          ),
        },
      }),
    )
    .patch(
      "",
      async ({ account, thread, body }) => {
        const marked = await markThread(deps, {
          accountId: account.id,
          threadId: thread.id,
          isRead: body.is_read,
          upToMessageId: body.up_to_message_id,
        });
        return { ok: true, ...toThread(marked.thread), ...(marked.reason && { reason: marked.reason }) };
      },
      operation({
        summary: "Mark thread",
        description:
          "Marks the thread as read or unread. With `up_to_message_id` mail that came in behind that message is not missed: the thread then stays unread, and the answer says `newer_inbound`.",
        path: idPath("thr", "thread"),
        body: MarkBody,
        answers: {
          200: Type.Object(
            {
              ok: Type.Boolean({ examples: [true] }),
              ...ThreadShape,
              reason: Type.Optional(
                oneOf(["newer_inbound"], { description: "Why the thread stayed unread, where it did" }),
              ),
            },
            { description: "The thread as it is now" },
          ),
        },
      }),
    );

  const ofInbox = api("/v1/inboxes/:id/threads", "Threads")
    .derive(async ({ account, params }) => ({
      totals: await ownedTotals(deps, account.id, (params as { id: string }).id),
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
          200: Type.Object(
            { data: Type.Array(Type.Object(ThreadShape)), total: Type.Integer({ examples: [1] }) },
            { description: "A page of threads, and how many there are in all" },
          ),
        },
      }),
    );

  return new Elysia().use(ofThread).use(ofInbox);
}

async function ownedThread(deps: ReadingDeps, accountId: string, id: string): Promise<ThreadState> {
  const thread = isId("thr", id) ? await findThread(deps.db.api, accountId, id) : undefined;
  if (thread === undefined) throw notFound("thread");
  return thread;
}

function toThread(thread: ThreadState) {
  const { id, inboxId, subject, isRead, messageCount, lastMessageAt, lastMessageId, createdAt } = thread;
  const { participants, preview, hasAttachments } = thread;
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
    participants,
    preview,
    hasAttachments,
  };
}
