import { Type } from "@sinclair/typebox";
import type { AutoSubmitted } from "../domain/automated.ts";
import { canonicalJson } from "../domain/idempotency.ts";
import { sha256Hex } from "../standards/digest.ts";
import { ToolFailure } from "./api.ts";
import { inboxId, newestOfThread } from "./places.ts";
import { argumentsOf, inboxArgument, messageArgument, oneOf, threadArgument } from "./schemas.ts";
import { sentBefore } from "./texts.ts";
import { type Context, tool } from "./tool.ts";
import type { Sent } from "./wire.ts";

const body = Type.String({ description: "Plain text or HTML, unless body_format says Markdown" });
const addresses = (description: string) =>
  Type.Optional(Type.Array(Type.String(), { description, minItems: 1, maxItems: 50 }));
const howToSend = {
  cc: addresses("Who gets a copy, as all see"),
  bcc: addresses("Who gets a copy that nobody else sees"),
  body_format: Type.Optional(oneOf(["markdown"], "Where the body is Markdown")),
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
    to: Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 50 })], {
      description: "One address, or several",
    }),
    subject: Type.String(),
    body,
    ...howToSend,
  }),
  output: Type.Object(SentMail),
  hints: { destructive: true, openWorld: true },
  async work({ inbox, to, subject, body: text, automatic, idempotency_key: key, ...more }, context) {
    const id = await inboxId(context, inbox);
    const autoSubmitted = automatic ? ("auto-generated" as const) : undefined;
    const request = { to, subject, body: text, autoSubmitted, ...furtherFields(more) };
    const derived = () => keyOf("send_email", [id, to, subject, text, automatic === true, ...furtherWords(more)]);
    return (await sent(context, id, request, key ?? derived())).told;
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
  async work(
    { thread_id: threadId, body: text, to, read_up_to: readUpTo, automatic, idempotency_key: key, ...more },
    context,
  ) {
    const thread = await newestOfThread(context, threadId, 30);
    const lastInbound = thread.data.findLast(({ direction }) => direction === "inbound");
    const recipient = to ?? lastInbound?.fromAddr;
    const inbox = thread.data[0]?.inboxId;
    if (recipient === undefined || inbox === undefined) {
      throw new ToolFailure("validation_error", 'Cannot reply: no mail came in this thread lately; "to" is required');
    }
    const answered = readUpTo ?? lastInbound?.id;
    const derived = () =>
      keyOf("reply_to_thread", [
        inbox,
        threadId,
        recipient,
        text,
        automatic === true,
        answered ?? null,
        ...furtherWords(more),
      ]);
    const request = {
      ...{ to: recipient, body: text, threadId, readUpToMessageId: readUpTo },
      autoSubmitted: automatic ? ("auto-replied" as const) : undefined,
      ...furtherFields(more),
    };
    const { told, isRead } = await sent(context, inbox, request, key ?? derived());
    // What an earlier call sent says nothing of the thread as it is now.
    return { ...told, isRead: told.replayed ? thread.isRead : isRead };
  },
});

interface Further {
  cc?: string[];
  bcc?: string[];
  body_format?: "markdown";
}

function furtherFields({ cc, bcc, body_format: bodyFormat }: Further) {
  return { cc, bcc, bodyFormat };
}

/** Nothing where there is none: a call in the words of before has the key of before. */
function furtherWords(further: Further): object[] {
  const given = Object.entries(further).filter(([, value]) => value !== undefined);
  return given.length === 0 ? [] : [Object.fromEntries(given)];
}

interface SendBody {
  to: string | string[];
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
