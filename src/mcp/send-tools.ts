import { Type } from "@sinclair/typebox";
import type { AutoSubmitted } from "../domain/automated.ts";
import { canonicalJson } from "../domain/idempotency.ts";
import { sha256Hex } from "../standards/digest.ts";
import { ToolFailure } from "./api.ts";
import { inboxId, newestOfThread } from "./places.ts";
import { argumentsOf, inboxArgument, messageArgument, threadArgument } from "./schemas.ts";
import { sentBefore } from "./texts.ts";
import { type Context, tool } from "./tool.ts";
import type { Sent } from "./wire.ts";

const body = Type.String({ description: "Plain text or HTML" });
const howToSend = {
  automatic: Type.Optional(
    Type.Boolean({
      description: "true where nobody reads it before it goes: the mail then says that a program wrote it",
    }),
  ),
  idempotency_key: Type.Optional(
    Type.String({ description: "Only to send the same words once more within 24 hours: any new value" }),
  ),
};
const SentMail = {
  messageId: Type.String(),
  threadId: Type.String(),
  status: Type.String(),
  replayed: Type.Boolean(),
  hint: Type.Optional(Type.String()),
};

export const sendEmail = tool({
  name: "send_email",
  title: "Send email",
  description: "Sends one new email. To answer a mail use reply_to_thread. The same call again is the same mail.",
  input: argumentsOf({
    inbox: inboxArgument,
    to: Type.String({ description: "One address" }),
    subject: Type.String(),
    body,
    ...howToSend,
  }),
  output: Type.Object(SentMail),
  hints: { destructive: true, openWorld: true },
  async work({ inbox, to, subject, body: text, automatic, idempotency_key: key }, context) {
    const id = await inboxId(context, inbox);
    const request = { to, subject, body: text, autoSubmitted: automatic ? ("auto-generated" as const) : undefined };
    return (await sent(context, id, request, key ?? keyOf("send_email", [id, to, subject, text, automatic === true])))
      .told;
  },
});

export const replyToThread = tool({
  name: "reply_to_thread",
  title: "Reply to thread",
  description:
    "Answers in a conversation, to the sender of its last mail unless told otherwise, and marks it as read unless something newer than read_up_to came.",
  input: argumentsOf({
    thread_id: threadArgument,
    body,
    to: Type.Optional(Type.String({ description: "One address, instead of the sender of the last mail that came" })),
    read_up_to: Type.Optional({ ...messageArgument, description: "Id of the last message that you have read" }),
    ...howToSend,
  }),
  output: Type.Object({ ...SentMail, isRead: Type.Boolean() }),
  hints: { destructive: true, openWorld: true },
  async work({ thread_id: threadId, body: text, to, read_up_to: readUpTo, automatic, idempotency_key: key }, context) {
    const thread = await newestOfThread(context, threadId, 30);
    const lastInbound = thread.data.findLast(({ direction }) => direction === "inbound");
    const recipient = to ?? lastInbound?.fromAddr;
    const inbox = thread.data[0]?.inboxId;
    if (recipient === undefined || inbox === undefined) {
      throw new ToolFailure("validation_error", 'Cannot reply: no mail came in this thread lately; "to" is required');
    }
    const answered = readUpTo ?? lastInbound?.id;
    const derived = () =>
      keyOf("reply_to_thread", [inbox, threadId, recipient, text, automatic === true, answered ?? null]);
    const request = {
      ...{ to: recipient, body: text, threadId, readUpToMessageId: readUpTo },
      autoSubmitted: automatic ? ("auto-replied" as const) : undefined,
    };
    const { told, isRead } = await sent(context, inbox, request, key ?? derived());
    // What an earlier call sent says nothing of the thread as it is now.
    return { ...told, isRead: told.replayed ? thread.isRead : isRead };
  },
});

interface SendBody {
  to: string;
  subject?: string;
  body: string;
  threadId?: string;
  readUpToMessageId?: string | undefined;
  autoSubmitted: AutoSubmitted | undefined;
}

async function sent({ api }: Context, inbox: string, request: SendBody, key: string) {
  const { body, headers } = await api.ask<Sent>("POST", `/v1/inboxes/${inbox}/send`, {
    headers: { "idempotency-key": key },
    body: request,
  });
  const replayed = headers.get("idempotent-replayed") === "true";
  const { messageId, threadId, status, isRead = true } = body;
  return { told: { messageId, threadId, status, replayed, ...(replayed && { hint: sentBefore }) }, isRead };
}

/** Of all that makes it this mail and no other: a client that lost the answer can only ask again in the same words. */
function keyOf(name: string, words: readonly unknown[]): string {
  return `mcp-${sha256Hex(canonicalJson([name, ...words]))}`;
}
