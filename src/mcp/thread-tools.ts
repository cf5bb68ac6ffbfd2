import { Type } from "@sinclair/typebox";
import { InboxdError, type Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { automatedKinds } from "../domain/automated.ts";
import { folders } from "../domain/folders.ts";
import { fitting, jsonLength, marksOf, mostTextCharacters, short } from "./marks.ts";
import {
  argumentsOf,
  inboxArgument,
  limitArgument,
  MarkedText,
  MessageHead,
  messageArgument,
  noticed,
  nullable,
  offsetArgument,
  oneOf,
  threadArgument,
  Verdict,
} from "./schemas.ts";
import { checkFence, inboxId, newestOfThread, pathId } from "./scope.ts";
import { messageHead, partOf } from "./shown.ts";
import { notice } from "./texts.ts";
import { type Context, ToolFailure, tool } from "./tool.ts";

export const listThreads = tool({
  name: "list_threads",
  title: "List threads",
  description:
    "Threads of an inbox, latest first: by default the unread ones, with folder or label all of it. lastSender, automated and verdict are of the last message; draftCount is of answers not sent yet. With people_only, threads whose last message a program wrote are left out of the page.",
  input: argumentsOf({
    inbox: inboxArgument,
    unread_only: Type.Optional(Type.Boolean()),
    folder: Type.Optional(oneOf([...folders, "all"])),
    label: Type.Optional(Type.String({ description: "instead of folder" })),
    people_only: Type.Optional(Type.Boolean({ default: false })),
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
        lastSender: nullable(Type.Object({ address: Type.String(), name: nullable(Type.String()) })),
        automated: nullable(oneOf(automatedKinds)),
        verdict: Verdict,
        hasAttachments: Type.Boolean(),
        preview: Type.String(),
        lastMessageAt: Type.String(),
        lastMessageId: Type.String(),
        messageCount: Type.Integer(),
        draftCount: Type.Integer(),
        folder: oneOf(folders),
        labels: Type.Array(Type.String()),
      }),
    ),
    total: Type.Integer(),
    next_offset: Type.Optional(Type.Integer()),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ inbox, people_only: isPeopleOnly, limit, offset = 0, folder, label, ...asked }, context) {
    const isUnreadOnly = asked.unread_only ?? (folder === undefined && label === undefined);
    const id = await inboxId(context, inbox);
    return fitting(limit ?? 20, async (fewer) => {
      const query = { is_read: isUnreadOnly ? false : undefined, limit: fewer, offset, folder, label };
      const { data, total } = await context.api.threads.list(id, query).page();
      const all = await eachOf(data, async (thread) => shownThread(thread, await lastOf(context, thread)));
      const next = offset + data.length;
      return {
        notice,
        threads: isPeopleOnly ? all.filter(({ automated }) => automated === null) : all,
        total,
        // A page may have fewer threads than asked for, also none, so their number does not tell where the next page begins.
        ...(isPeopleOnly && data.length > 0 && next < total && { next_offset: next }),
      };
    });
  },
});

/** The last message of a thread, in which the API's list has neither its sender nor who wrote it; undefined if it is gone by now. */
async function lastOf({ api }: Context, thread: Schemas["Thread"]): Promise<Schemas["ListedMessage"] | undefined> {
  const only = { offset: thread.messageCount - 1, limit: 1 };
  const found = await api.threads.messages(thread.id, only).page().catch(undefinedIfGone);
  return found?.data.find(({ id }) => id === thread.lastMessageId);
}

function undefinedIfGone(error: unknown): undefined {
  if (!(error instanceof InboxdError && error.status === 404)) throw error;
}

/** The results for all items, in their order. At most ten are waited for at once, so that one call of a tool never takes all connections. */
async function eachOf<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < items.length; from += 10) {
    results.push(...(await Promise.all(items.slice(from, from + 10).map(work))));
  }
  return results;
}

function shownThread(thread: Schemas["Thread"], last: Schemas["ListedMessage"] | undefined) {
  const { id, subject, isRead, participants, preview, lastMessageAt, lastMessageId, messageCount } = thread;
  const { draftCount, folder, labels } = thread;
  return {
    id,
    subject: short(subject),
    isRead,
    participants: participants.slice(0, 10).map(short),
    lastSender: last
      ? { address: short(last.fromAddr), name: last.fromName === null ? null : short(last.fromName) }
      : null,
    automated: last?.automated?.kind ?? null,
    verdict: last?.authentication?.verdict ?? null,
    hasAttachments: thread.hasAttachments,
    preview: short(preview),
    lastMessageAt,
    lastMessageId,
    messageCount,
    draftCount,
    folder,
    labels,
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

/** A model cannot put threads into the trash, which is emptied: no tool deletes anything. */
const markArguments = {
  is_read: Type.Optional(Type.Boolean()),
  folder: Type.Optional(
    oneOf(["inbox", "archive"], "archive: done, and read. The next mail brings the thread back, unread"),
  ),
  add_labels: Type.Optional(Type.Array(Type.String())),
  remove_labels: Type.Optional(Type.Array(Type.String())),
};

const markResult = { isRead: Type.Boolean(), folder: oneOf(folders), labels: Type.Array(Type.String()) };

export const markThread = tool({
  name: "mark_thread",
  title: "Mark thread",
  description:
    "Marks a thread as read or unread, archives it, or labels it. With up_to_message_id, the last message that you have read, it stays unread in the inbox if newer mail has arrived.",
  input: argumentsOf({
    thread_id: threadArgument,
    ...markArguments,
    up_to_message_id: Type.Optional(messageArgument),
  }),
  output: Type.Object({ ...markResult, reason: Type.Optional(oneOf(["newer_inbound"])) }),
  hints: { idempotent: true },
  async work({ thread_id: threadId, ...mark }, context) {
    const { isRead, folder, labels, reason } = await marked(context, threadId, mark);
    return { isRead, folder, labels: [...labels], ...(reason && { reason }) };
  },
});

export const markThreads = tool({
  name: "mark_threads",
  title: "Mark threads",
  description:
    "Marks, archives or labels up to 50 threads, also if newer mail has arrived; mark_thread has up_to_message_id. A thread that cannot be marked has the code of its failure, and the others are marked.",
  input: argumentsOf({
    thread_ids: Type.Array(Type.String(), { minItems: 1, maxItems: 50, description: "Ids of the threads (thr_…)" }),
    ...markArguments,
  }),
  output: Type.Object({
    threads: Type.Array(
      Type.Object({
        id: Type.String(),
        ...Type.Partial(Type.Object(markResult)).properties,
        code: Type.Optional(Type.String()),
      }),
    ),
  }),
  hints: { idempotent: true },
  async work({ thread_ids, ...mark }, context) {
    const threads = await eachOf([...new Set(thread_ids)], async (id) => {
      try {
        const { isRead, folder, labels } = await marked(context, id, mark);
        return { id, isRead, folder, labels: [...labels] };
      } catch (error) {
        // A failure that is about this thread; any other ends the call.
        if (!(error instanceof ToolFailure || (error instanceof InboxdError && error.status === 404))) throw error;
        return { id, code: error.code };
      }
    });
    return { threads };
  },
});

/** Marks a thread. Throws if the model is limited to another inbox. */
async function marked(
  context: Context,
  threadId: string,
  mark: Schemas["ThreadChange"],
): Promise<Schemas["ChangedThread"]> {
  const { api, fence } = context;
  const id = pathId("thread", threadId);
  if (fence !== undefined) {
    const { data } = await api.threads.messages(id, { limit: 1 }).page();
    await checkFence(context, data[0]?.inboxId ?? "", "thread");
  }
  return api.threads.change(id, mark);
}
