import { Type } from "@sinclair/typebox";
import type { AutoSubmitted } from "../domain/automated.ts";
import { canonicalJson } from "../domain/idempotency.ts";
import { type BodyFormat, bodyFormats } from "../domain/send/body-format.ts";
import { sha256Hex } from "../standards/digest.ts";
import { ToolFailure } from "./api.ts";
import { inboxId, messageOf, newestOfThread } from "./places.ts";
import { argumentsOf, inboxArgument, messageArgument, oneOf, threadArgument } from "./schemas.ts";
import { sentBefore } from "./texts.ts";
import { type Context, tool } from "./tool.ts";
import type { Sent } from "./wire.ts";

const body = Type.String({ description: "Plain text or HTML, unless body_format says what it is" });
/** One address as a string too: models write it so. */
const addressOrSeveral = (description: string) =>
  Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 50 })], { description });
const howToSend = {
  cc: Type.Optional(addressOrSeveral("Who gets a copy, as all see")),
  bcc: Type.Optional(addressOrSeveral("Who gets a copy that nobody else sees")),
  body_format: Type.Optional(oneOf(bodyFormats, "What the body is; auto, or left out: HTML or text by what it says")),
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
  description:
    "Sends one new email, or forwards a message with its attachments. To answer a mail use reply_to_thread. The same call again is the same mail.",
  input: argumentsOf({
    inbox: inboxArgument,
    to: addressOrSeveral("One address, or several"),
    subject: Type.Optional(Type.String({ description: "Left out only with forward_of: Fwd: and its subject" })),
    body: Type.Optional({ ...body, description: `${body.description}. Left out only with forward_of` }),
    forward_of: Type.Optional({ ...messageArgument, description: "Id of a message that goes along under the body" }),
    ...howToSend,
  }),
  output: Type.Object(SentMail),
  hints: { destructive: true, openWorld: true },
  async work({ inbox, to, subject, body: text, automatic, idempotency_key: key, ...more }, context) {
    const id = await inboxId(context, inbox);
    // The key could forward what lies in other inboxes: the fence keeps the model from them.
    if (more.forward_of !== undefined && context.fence !== undefined) await messageOf(context, more.forward_of);
    const autoSubmitted = automatic ? ("auto-generated" as const) : undefined;
    const request = { to, subject, body: text, autoSubmitted, forwardOf: more.forward_of, ...furtherFields(more) };
    const words = () => [id, to, subject ?? null, text ?? null, automatic === true, ...furtherWords(more)];
    const derived = () => keyOf("send_email", words());
    return (await sent(context, id, request, key ?? derived())).told;
  },
});

export const replyToThread = tool({
  name: "reply_to_thread",
  title: "Reply to thread",
  description:
    "Answers in a conversation, to the sender of its last mail unless told otherwise (reply_all: to all of that mail), and marks it as read unless something newer than read_up_to came.",
  input: argumentsOf({
    thread_id: threadArgument,
    body,
    to: Type.Optional(Type.String({ description: "One address, instead of the sender of the last mail that came" })),
    reply_all: Type.Optional(
      Type.Boolean({ description: "true: to all whom the answered mail names but this inbox; without to" }),
    ),
    reply_to_message_id: Type.Optional({
      ...messageArgument,
      description: "Id of the message of this thread that is answered and quoted, instead of the last one",
    }),
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
    const { reply_all: replyAll, reply_to_message_id: replyToMessageId } = more;
    // Whom a message names that is answered by its id, or with all of them, the API knows.
    const isDerived = to === undefined && (replyAll === true || replyToMessageId !== undefined);
    const recipient = isDerived ? undefined : (to ?? lastInbound?.fromAddr);
    const inbox = thread.data[0]?.inboxId;
    if ((recipient === undefined && !isDerived) || inbox === undefined) {
      throw new ToolFailure("validation_error", 'Cannot reply: no mail came in this thread lately; "to" is required');
    }
    const answered = readUpTo ?? lastInbound?.id ?? null;
    const words = () => [inbox, threadId, recipient ?? null, text, automatic === true, answered, ...furtherWords(more)];
    const derived = () => keyOf("reply_to_thread", words());
    const request = {
      ...{ to: recipient, body: text, threadId, readUpToMessageId: readUpTo, replyAll, replyToMessageId },
      autoSubmitted: automatic ? ("auto-replied" as const) : undefined,
      ...furtherFields(more),
    };
    const { told, isRead } = await sent(context, inbox, request, key ?? derived());
    // What an earlier call sent says nothing of the thread as it is now.
    return { ...told, isRead: told.replayed ? thread.isRead : isRead };
  },
});

interface Further {
  cc?: string | string[];
  bcc?: string | string[];
  body_format?: BodyFormat;
}

function furtherFields({ cc, bcc, body_format: bodyFormat }: Further) {
  return { cc: listed(cc), bcc: listed(bcc), bodyFormat };
}

function listed(addresses: string | string[] | undefined): string[] | undefined {
  return typeof addresses === "string" ? [addresses] : addresses;
}

/** Nothing where there is none: a call in the words of before has the key of before. One address is the same mail as a list of it. */
function furtherWords({ cc, bcc, ...further }: Further): object[] {
  const given = Object.entries({ ...further, cc: listed(cc), bcc: listed(bcc) }).filter(
    ([, value]) => value !== undefined,
  );
  return given.length === 0 ? [] : [Object.fromEntries(given)];
}

interface SendBody {
  to: string | string[] | undefined;
  subject?: string | undefined;
  body: string | undefined;
  forwardOf?: string | undefined;
  threadId?: string;
  replyAll?: boolean | undefined;
  replyToMessageId?: string | undefined;
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
