import { Type } from "@sinclair/typebox";
import type { ListOf, Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { fitting, marksOf } from "./marks.ts";
import {
  argumentsOf,
  inboxArgument,
  limitArgument,
  MessageHead,
  MessageWhole,
  messageArgument,
  noticed,
  nullable,
  oneOf,
  textOffset,
} from "./schemas.ts";
import { inboxId, messageOf } from "./scope.ts";
import { messageHead, messageWhole, type Part, partOf, previewText } from "./shown.ts";
import { notice, waitedInVain, waitedWell } from "./texts.ts";
import { type Context, type Progress, tool } from "./tool.ts";

export const searchMessages = tool({
  name: "search_messages",
  title: "Search messages",
  description: "Messages of an inbox, newest first, without their text (read_message has it).",
  input: argumentsOf({
    inbox: inboxArgument,
    query: Type.Optional(
      Type.String({
        description:
          'Words that must all match; "a phrase", or, -not; from:, to:, subject:, has:attachment, is:unread, after:2026-03-01, before:. Default: the newest messages',
      }),
    ),
    direction: Type.Optional(oneOf(["inbound", "outbound"])),
    limit: limitArgument(20, 50),
    cursor: Type.Optional(Type.String({ description: "next_cursor of the previous call, with the same query" })),
  }),
  output: Type.Object({
    ...noticed,
    messages: Type.Array(Type.Object({ ...MessageHead, preview: Type.String() })),
    next_cursor: nullable(Type.String()),
    searched: Type.Optional(
      oneOf(["head", "off"], "Only if some mail is found by subject and addresses alone (head), or by no words (off)"),
    ),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ inbox, query: q, direction, limit, cursor }, context) {
    const id = await inboxId(context, inbox);
    return fitting(limit ?? 20, async (fewer) => {
      const query = { q, direction, limit: fewer, cursor, include: "extracted" };
      const { data, nextCursor, searched } = await context.api.messages.list(id, query).page();
      const messages = data.map((message) => ({ ...messageHead(message, 5), preview: previewText(message) }));
      return { notice, messages, next_cursor: nextCursor, ...(searched !== undefined && { searched }) };
    });
  },
});

export const readMessage = tool({
  name: "read_message",
  title: "Read message",
  description:
    "All of one message: text, codes, links, attachments, and whether a robot sent it. Marks nothing as read.",
  input: argumentsOf({
    message_id: messageArgument,
    part: Type.Optional(
      oneOf(
        ["text", "full_text", "html"],
        "text (default): the new text; full_text: also quoted history and signature; html: its HTML, if it has any",
      ),
    ),
    offset: textOffset,
  }),
  output: Type.Object({ ...noticed, message: MessageWhole }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ message_id: id, part, offset }, context) {
    const message = await messageOf(context, id);
    return { notice, message: shownWhole(message, context, part ?? "text", offset ?? 0) };
  },
});

function shownWhole(message: Schemas["Message"], { randomBytes }: Context, part: Part, offset: number) {
  const text = partOf(message, part);
  return messageWhole(message, marksOf([text], randomBytes), text, offset);
}

export const waitForMessage = tool({
  name: "wait_for_message",
  title: "Wait for message",
  description:
    "Waits for a mail that matches. Without after: the newest match of the last minute, or else the next. With after: the first match after that cursor or message.",
  input: argumentsOf({
    inbox: inboxArgument,
    from: Type.Optional(Type.String({ description: "Sender: a whole address, @domain, or a part of address or name" })),
    subject: Type.Optional(Type.String({ description: "A part of the subject" })),
    has: Type.Optional(Type.String({ description: "code, link, attachment, or several of them with commas" })),
    after: Type.Optional(Type.String({ description: "A cursor of an earlier wait, or the id of a message" })),
    timeout: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 50,
        default: 25,
        description: "Seconds. 0 returns the current cursor at once",
      }),
    ),
  }),
  output: Type.Object({
    ...noticed,
    message: nullable(MessageWhole),
    cursor: Type.String(),
    hint: Type.String(),
  }),
  hints: { readOnly: true, openWorld: true },
  async work({ inbox, from, subject, has, after, timeout }, context) {
    const id = await inboxId(context, inbox);
    const query = { from, subject, has: has as ListOf<"has"> | undefined, after, timeout };
    const { message, cursor } = await whileTelling(context.progress, timeout ?? 25, () =>
      context.api.messages.wait(id, query),
    );
    if (message === null) return { notice, message, cursor, hint: waitedInVain };
    return { notice, message: shownWhole(message, context, "text", 0), cursor, hint: waitedWell };
  },
});

/**
 * Waits for `work`, and tells the client at once and every five seconds how long it has waited of `seconds`: a client that hears nothing
 * may give up, and some show the progress to a person.
 */
export async function whileTelling<Result>(
  progress: Progress | undefined,
  seconds: number,
  work: () => Promise<Result>,
  everyMs = 5000,
): Promise<Result> {
  if (progress === undefined || seconds === 0) return work();
  let waited = 0;
  const tell = () => {
    // The result itself tells the end.
    if (waited < seconds) progress({ progress: waited, total: seconds, message: "Waiting for mail" });
    waited += everyMs / 1000;
  };
  tell();
  const timer = setInterval(tell, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
