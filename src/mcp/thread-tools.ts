import { Type } from "@sinclair/typebox";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { fitting, jsonLength, marksOf, mostTextCharacters, short } from "./marks.ts";
import {
  argumentsOf,
  inboxArgument,
  limitArgument,
  MarkedText,
  MessageHead,
  messageArgument,
  noticed,
  offsetArgument,
  oneOf,
  threadArgument,
} from "./schemas.ts";
import { checkFence, inboxId, newestOfThread, pathId } from "./scope.ts";
import { messageHead, partOf } from "./shown.ts";
import { notice } from "./texts.ts";
import { tool } from "./tool.ts";

export const listThreads = tool({
  name: "list_threads",
  title: "List threads",
  description: "Threads of an inbox, latest first; only unread ones unless unread_only is false.",
  input: argumentsOf({
    inbox: inboxArgument,
    unread_only: Type.Optional(Type.Boolean({ default: true })),
    limit: limitArgument(20, 50),
    offset: offsetArgument,
  }),
  output: Type.Object({
    ...noticed,
    threads: Type.Array(
      Type.Object({
        id: Type.String(),
        subject: Type.String(),
        isRead: Type.Boolean(),
        participants: Type.Array(Type.String()),
        preview: Type.String(),
        lastMessageAt: Type.String(),
        lastMessageId: Type.String(),
        messageCount: Type.Integer(),
      }),
    ),
    total: Type.Integer(),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ inbox, unread_only: isUnreadOnly, limit, offset }, context) {
    const id = await inboxId(context, inbox);
    return fitting(limit ?? 20, async (fewer) => {
      const query = { is_read: isUnreadOnly ? false : undefined, limit: fewer, offset };
      const { data, total } = await context.api.threads.list(id, query).page();
      return { notice, threads: data.map(shownThread), total };
    });
  },
});

function shownThread(thread: Schemas["Thread"]) {
  const { id, subject, isRead, participants, preview, lastMessageAt, lastMessageId, messageCount } = thread;
  return {
    id,
    subject: short(subject),
    isRead,
    participants: participants.slice(0, 10).map(short),
    preview: short(preview),
    lastMessageAt,
    lastMessageId,
    messageCount,
  };
}

export const readThread = tool({
  name: "read_thread",
  title: "Read thread",
  description:
    "The newest messages of a thread, oldest first, each with its new text. Marks nothing as read. read_message has all of a message.",
  input: argumentsOf({ thread_id: threadArgument, limit: limitArgument(10, 30) }),
  output: Type.Object({
    ...noticed,
    subject: Type.String(),
    isRead: Type.Boolean(),
    messages: Type.Array(Type.Object({ ...MessageHead, ...MarkedText })),
    total: Type.Integer(),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ thread_id: threadId, limit }, context) {
    const thread = await newestOfThread(context, threadId, limit ?? 10, "extracted");
    return {
      notice,
      subject: short(thread.subject),
      isRead: thread.isRead,
      ...shownMessages(thread, context.randomBytes),
    };
  },
});

/**
 * Shows the messages of a thread, oldest first. The newest one gets room first, for its head and its text, so that only
 * older ones are cut or left out.
 */
function shownMessages({ data, total }: Schemas["ThreadMessages"], randomBytes: (length: number) => Uint8Array) {
  const newestFirst = data
    .toReversed()
    .map((message) => ({ head: messageHead(message, 5), text: partOf(message, "text") }));
  let headRoom = mostHeadCharacters;
  const kept = newestFirst.filter(({ head }) => {
    headRoom -= jsonLength(head) + markCharacters;
    return headRoom > 0;
  });
  const marks = marksOf(
    kept.map(({ text }) => text),
    randomBytes,
  );
  const shared = { characters: mostThreadCharacters, jsonCharacters: mostThreadCharacters + Math.max(0, headRoom) };
  const messages = kept.map(({ head, text }) => {
    const room = {
      characters: Math.min(mostTextCharacters, shared.characters),
      jsonCharacters: shared.jsonCharacters,
    };
    const before = { ...room };
    const marked = marks.text(text, room);
    shared.characters -= before.characters - room.characters;
    shared.jsonCharacters -= before.jsonCharacters - room.jsonCharacters;
    return { ...head, ...marked };
  });
  return { messages: messages.toReversed(), total };
}

/** The most characters of all texts of a thread, and of all heads. Together they fit into a result. */
const mostThreadCharacters = 40_000;
const mostHeadCharacters = 18_000;
/** The number of characters that the marks and the fields `truncated` and `next_offset` add to a text, roughly. */
const markCharacters = 120;

export const markThread = tool({
  name: "mark_thread",
  title: "Mark thread",
  description:
    "Marks a thread as read or unread. With up_to_message_id, the last message that you have read, the thread stays unread if newer mail has arrived.",
  input: argumentsOf({
    thread_id: threadArgument,
    is_read: Type.Boolean(),
    up_to_message_id: Type.Optional(messageArgument),
  }),
  output: Type.Object({ isRead: Type.Boolean(), reason: Type.Optional(oneOf(["newer_inbound"])) }),
  hints: { idempotent: true },
  async work({ thread_id: threadId, is_read, up_to_message_id }, context) {
    const { api, fence } = context;
    const id = pathId("thread", threadId);
    if (fence !== undefined) {
      const { data } = await api.threads.messages(id, { limit: 1 }).page();
      await checkFence(context, data[0]?.inboxId ?? "", "thread");
    }
    const { isRead, reason } = await api.threads.mark(id, { is_read, up_to_message_id });
    return { isRead, ...(reason && { reason }) };
  },
});
