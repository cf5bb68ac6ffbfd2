import { Type } from "@sinclair/typebox";
import type { OrUndefined, Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { canonicalJson } from "../domain/idempotency.ts";
import { type BodyFormat, bodyFormats } from "../domain/send/body-format.ts";
import { sha256Hex } from "../standards/digest.ts";
import { argumentsOf, inboxArgument, messageArgument, oneOf, threadArgument } from "./schemas.ts";
import { inboxId, messageOf, newestOfThread } from "./scope.ts";
import { sentBefore } from "./texts.ts";
import { type Context, ToolFailure, tool } from "./tool.ts";

const body = Type.String({ description: "Plain text or HTML, unless body_format says what it is" });
/** Also accepts one address as a string, as models write it. */
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
    // The key reaches messages of other inboxes, which the model must not forward.
    if (more.forward_of !== undefined && context.fence !== undefined) await messageOf(context, more.forward_of);
    const autoSubmitted = automatic ? ("auto-generated" as const) : undefined;
    const request = { to, subject, body: text, autoSubmitted, forwardOf: more.forward_of, ...furtherFields(more) };
    const words = () => [id, to, subject ?? null, text ?? null, automatic === true, ...furtherWords(more)];
    const derived = () => keyOf("send_email", words());
    return (await sent(context, id, request, key ?? derived())).result;
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
    // The API finds the recipients of a reply to all, or to a message by its id.
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
      to: recipient,
      body: text,
      threadId,
      readUpToMessageId: readUpTo,
      replyAll,
      replyToMessageId,
      autoSubmitted: automatic ? ("auto-replied" as const) : undefined,
      ...furtherFields(more),
    };
    const { result, isRead } = await sent(context, inbox, request, key ?? derived());
    // The result of an earlier call has the state of the thread at that time.
    return { ...result, isRead: result.replayed ? thread.isRead : isRead };
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

/** Empty without further fields. One address gives the same key as a list of it. */
function furtherWords({ cc, bcc, ...further }: Further): object[] {
  const given = Object.entries({ ...further, cc: listed(cc), bcc: listed(bcc) }).filter(
    ([, value]) => value !== undefined,
  );
  return given.length === 0 ? [] : [Object.fromEntries(given)];
}

async function sent({ api }: Context, inbox: string, email: OrUndefined<Schemas["NewEmail"]>, idempotencyKey: string) {
  const {
    messageId,
    threadId,
    status,
    replayed,
    isRead = true,
  } = await api.messages.send(inbox, email, { idempotencyKey });
  return { result: { messageId, threadId, status, replayed, ...(replayed && { hint: sentBefore }) }, isRead };
}

/** A key from all that makes this mail different from others, because a client that lost the result can only repeat its call. */
function keyOf(name: string, words: readonly unknown[]): string {
  return `mcp-${sha256Hex(canonicalJson([name, ...words]))}`;
}
