import { type Static, Type } from "@sinclair/typebox";
import type { OrUndefined, Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { type BodyFormat, bodyFormats } from "../domain/send/body-format.ts";
import { derivedKey } from "./idempotency.ts";
import { short } from "./marks.ts";
import {
  argumentsOf,
  inboxArgument,
  limitArgument,
  messageArgument,
  nullable,
  oneOf,
  threadArgument,
} from "./schemas.ts";
import { fileOf, inboxId, messageOf, newestOfThread } from "./scope.ts";
import { sentBefore, waitsForPerson } from "./texts.ts";
import { type Context, ToolFailure, tool } from "./tool.ts";

const body = Type.String({ description: "Plain text or HTML, see body_format" });
/** Also accepts one address as a string, as models write it. */
const addressOrSeveral = (description: string) =>
  Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 50 })], { description });
const howToSend = {
  cc: Type.Optional(addressOrSeveral("Recipients of a copy, visible to all")),
  bcc: Type.Optional(addressOrSeveral("Recipients of a copy, hidden from the others")),
  body_format: Type.Optional(oneOf(bodyFormats, "Default auto: HTML if the body looks like HTML, else text")),
  automatic: Type.Optional(
    Type.Boolean({
      description: "true if no person reads the mail before it is sent: it is then marked as written by a program",
    }),
  ),
  send_at: Type.Optional(
    Type.String({
      description:
        "To send it later: a time with an offset, such as 2027-01-15T09:00:00+01:00. Until then cancel_message takes it back",
    }),
  ),
  idempotency_key: Type.Optional(
    Type.String({ description: "Only needed to send an identical mail again within 24 hours: any new value" }),
  ),
};
/** One object with all fields: some clients cannot convert a union. The API checks which fields go together. */
const attachedFile = Type.Object(
  {
    uploadId: Type.Optional(Type.String({ description: "Id of a file that was uploaded (upl_…)" })),
    messageId: Type.Optional({ ...messageArgument, description: "With filename: id of a message that has the file" }),
    filename: Type.Optional(Type.String()),
  },
  { additionalProperties: false, description: "files, each with uploadId, or with messageId and filename" },
);
const SentMail = {
  messageId: Type.String(),
  threadId: Type.String(),
  status: Type.String(),
  state: Type.Optional(Type.String({ description: "awaiting_approval: it is sent once a person has approved it" })),
  reasons: Type.Optional(Type.Array(Type.String())),
  sendAt: Type.Optional(Type.String()),
  replayed: Type.Boolean(),
  hint: Type.Optional(Type.String()),
};

export const sendEmail = tool({
  name: "send_email",
  title: "Send email",
  description:
    "Sends one new email, or forwards a message with its attachments. To answer a mail use reply_to_thread. A repeated call within 24 hours sends no second mail.",
  input: argumentsOf({
    inbox: inboxArgument,
    to: addressOrSeveral("One address, or several"),
    subject: Type.Optional(
      Type.String({ description: "Optional only with forward_of, by default Fwd: and its subject" }),
    ),
    body: Type.Optional({ ...body, description: `${body.description}. Optional only with forward_of` }),
    forward_of: Type.Optional({ ...messageArgument, description: "Id of a message to forward below the body" }),
    attachments: Type.Optional(Type.Array(attachedFile, { minItems: 1, maxItems: 50 })),
    unsubscribe: Type.Optional(
      Type.Boolean({
        description: "true: the recipient can unsubscribe with one click, as newsletters need it. One recipient only",
      }),
    ),
    ...howToSend,
  }),
  output: Type.Object(SentMail),
  hints: { destructive: true, openWorld: true },
  async work({ inbox, to, subject, body: text, automatic, idempotency_key: key, ...more }, context) {
    const id = await inboxId(context, inbox);
    // The API key may read other inboxes, but a model that is limited to one must not forward their messages: this
    // throws for them.
    if (more.forward_of !== undefined && context.fence !== undefined) await messageOf(context, more.forward_of);
    const autoSubmitted = automatic ? ("auto-generated" as const) : undefined;
    const attachments =
      more.attachments && (await Promise.all(more.attachments.map((file) => attached(context, file))));
    const request = {
      to,
      subject,
      body: text,
      autoSubmitted,
      forwardOf: more.forward_of,
      attachments,
      unsubscribe: more.unsubscribe,
      ...furtherFields(more),
    };
    const words = () => [id, to, subject ?? null, text ?? null, automatic === true, ...furtherWords(more)];
    const derived = () => derivedKey("send_email", words());
    return (await sent(context, id, request, key ?? derived())).result;
  },
});

export const replyToThread = tool({
  name: "reply_to_thread",
  title: "Reply to thread",
  description:
    "Replies in a thread: to the sender of its last inbound mail, unless to, reply_all or reply_to_message_id is given. Marks the thread as read, unless mail newer than read_up_to has arrived. With read_up_to it sends nothing if this inbox has answered after that message.",
  input: argumentsOf({
    thread_id: threadArgument,
    body,
    to: Type.Optional(Type.String({ description: "One address, instead of the sender of the last inbound mail" })),
    reply_all: Type.Optional(
      Type.Boolean({ description: "true: to all addresses of the answered mail except this inbox. Only without to" }),
    ),
    reply_to_message_id: Type.Optional({
      ...messageArgument,
      description: "Id of the message of this thread to answer and quote, instead of the last one",
    }),
    read_up_to: Type.Optional({ ...messageArgument, description: "Id of the last message that you have read" }),
    even_if_answered: Type.Optional(
      Type.Boolean({ description: "true: also if this inbox has sent mail in the thread after read_up_to" }),
    ),
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
    // Without `to`, the API finds the recipients of a reply to all and of a reply to a message id.
    const isDerived = to === undefined && (replyAll === true || replyToMessageId !== undefined);
    const recipient = isDerived ? undefined : (to ?? lastInbound?.fromAddr);
    const inbox = thread.data[0]?.inboxId;
    if ((recipient === undefined && !isDerived) || inbox === undefined) {
      throw new ToolFailure(
        "validation_error",
        'Cannot reply: the last messages of this thread have no inbound mail; "to" is required',
      );
    }
    const answered = readUpTo ?? lastInbound?.id ?? null;
    const words = () => [inbox, threadId, recipient ?? null, text, automatic === true, answered, ...furtherWords(more)];
    const derived = () => derivedKey("reply_to_thread", words());
    const request = {
      to: recipient,
      body: text,
      threadId,
      readUpToMessageId: readUpTo,
      ifUnanswered: readUpTo === undefined || more.even_if_answered === true ? undefined : true,
      replyAll,
      replyToMessageId,
      autoSubmitted: automatic ? ("auto-replied" as const) : undefined,
      ...furtherFields(more),
    };
    const { result, isRead } = await sent(context, inbox, request, key ?? derived());
    // The `isRead` of a replayed result is that of the first call, so the current one is returned.
    return { ...result, isRead: result.replayed ? thread.isRead : isRead };
  },
});

/** A file of a message by the name that it has there. The message is looked up, so that it is within the model's limits. */
async function attached(context: Context, file: Static<typeof attachedFile>): Promise<Static<typeof attachedFile>> {
  const { messageId, filename } = file;
  if (messageId === undefined || filename === undefined) return file;
  return { ...file, filename: (await fileOf(context, messageId, filename)).attachment.filename };
}

interface Further {
  cc?: string | string[];
  bcc?: string | string[];
  body_format?: BodyFormat;
  send_at?: string;
}

function furtherFields({ cc, bcc, body_format: bodyFormat, send_at: sendAt }: Further) {
  return { cc: listed(cc), bcc: listed(bcc), bodyFormat, sendAt };
}

function listed(addresses: string | string[] | undefined): string[] | undefined {
  return typeof addresses === "string" ? [addresses] : addresses;
}

/**
 * The further fields for the idempotency key; empty if none is given. One address as a string gives the same key as a
 * list with only that address.
 */
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
    state,
    reasons,
    sendAt,
    replayed,
    isRead = true,
  } = await api.messages.send(inbox, email, { idempotencyKey });
  const waiting = {
    ...(state !== undefined && { state }),
    ...(reasons !== undefined && { reasons }),
    ...(sendAt !== undefined && { sendAt }),
  };
  const result = { messageId, threadId, status, ...waiting, replayed };
  const hint = state === "awaiting_approval" ? waitsForPerson : replayed ? sentBefore : undefined;
  return { result: { ...result, ...(hint !== undefined && { hint }) }, isRead };
}

export const listDrafts = tool({
  name: "list_drafts",
  title: "List drafts",
  description:
    "Mail of an inbox that is written, scheduled or waits for approval, newest first. cancel_message takes back all but a written one.",
  input: argumentsOf({ inbox: inboxArgument, limit: limitArgument(20, 50) }),
  output: Type.Object({
    drafts: Type.Array(
      Type.Object({
        id: Type.String(),
        threadId: Type.String(),
        state: Type.String(),
        sendAt: nullable(Type.String()),
        to: Type.Array(Type.String()),
        subject: nullable(Type.String()),
        text: Type.String(),
      }),
    ),
  }),
  hints: { readOnly: true, idempotent: true },
  async work({ inbox, limit }, context) {
    const id = await inboxId(context, inbox);
    const { data } = await context.api.drafts.list({ inbox_id: id, limit: limit ?? 20 }).page();
    return {
      drafts: data.map((draft) => ({
        id: draft.id,
        threadId: draft.threadId,
        state: draft.state,
        sendAt: draft.sendAt,
        to: draft.to.slice(0, 10).map(({ address }) => address),
        subject: draft.subject === null ? null : short(draft.subject),
        text: short(draft.body ?? draft.bodyHtml ?? ""),
      })),
    };
  },
});

export const cancelMessage = tool({
  name: "cancel_message",
  title: "Cancel message",
  description:
    "Takes back a mail that is scheduled, waits for approval or is still in the outbox. Fails if it is being sent, was sent, or has failed.",
  input: argumentsOf({ message_id: messageArgument }),
  output: Type.Object({
    messageId: Type.String(),
    status: Type.String(),
    mayHaveBeenSent: Type.Optional(Type.Boolean()),
  }),
  hints: { destructive: true, idempotent: true },
  async work({ message_id: given }, context) {
    const { id } = await messageOf(context, given);
    const { status, ...more } = await context.api.messages.cancel(id);
    const isUnsure = "mayHaveBeenSent" in more && more.mayHaveBeenSent === true;
    return { messageId: id, status, ...(isUnsure && { mayHaveBeenSent: true }) };
  },
});
