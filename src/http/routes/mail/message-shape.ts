import { Type } from "@sinclair/typebox";
import { automatedKinds } from "../../../domain/automated.ts";
import { inContractOrder } from "../../../domain/receive/authentication.ts";
import { waitingStates } from "../../../domain/send/draft.ts";
import {
  type AttachmentLinks,
  type LinkedAttachment,
  linkedAttachments,
} from "../../../flows/read/attachment-links.ts";
import type { ShownAlone } from "../../../flows/read/draft-as-message.ts";
import { type ExtractingDeps, extracted } from "../../../flows/read/extracted.ts";
import { tagOf } from "../../../standards/address.ts";
import type { ShownMessage } from "../../../store/mail/message-pages.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { instant, nullable, oneOf } from "../../shell/models.ts";
import { Authentication, Spam, toSpam } from "./authentication-shape.ts";
import { extractedFields } from "./extracted-shape.ts";
import { Failure, Recipient, toFailure, toRecipient } from "./recipient-shape.ts";
import { Delivery } from "./report-shapes.ts";

export const Attachment = named(
  "Attachment",
  Type.Object(
    {
      filename: Type.String({ description: "Its name, safe to use as a file name", examples: [examples.filename] }),
      contentType: Type.String({ description: "Its media type, as the mail says", examples: ["application/pdf"] }),
      sizeBytes: Type.Integer({ minimum: 0, description: "Its size", examples: [48213] }),
      url: Type.String({
        description: "Downloads the file without a key until `expiresAt`",
        examples: [
          `http://127.0.0.1:3000/v1/attachments/${examples.messageId}/${examples.filename}?expires=${examples.linkExpires}&signature=${examples.signature}&cell=00`,
        ],
      }),
      id: Type.String({ description: "Id of the attachment", examples: [examples.attachmentId] }),
      contentId: nullable(Type.String({ examples: ["logo@example.com"] }), {
        description: "The id by which the HTML refers to it, as `cid:`",
        examples: [null],
      }),
      inline: Type.Boolean({ description: "Whether it is shown within the text", examples: [false] }),
      expiresAt: instant({ description: "When `url` expires", examples: [examples.linkExpiresAt] }),
    },
    { description: "A file of a message" },
  ),
);

export const Automated = named(
  "Automated",
  Type.Object(
    {
      kind: oneOf(automatedKinds, {
        description:
          "The first kind that fits: a report of a mail server, of a reader's program, or of a complaint; an automatic reply; mail of a list; mail to many; a notification of a service",
        examples: ["notification"],
      }),
      reasons: Type.Array(Type.String({ examples: ["auto-submitted"] }), {
        description: "The signs: header fields, `report-type`, `from`, `subject`, `null-reverse-path`, `no-reply`",
      }),
    },
    { description: "Signs that a program wrote a mail" },
  ),
);

const messageFields = {
  id: Type.String({ description: "Id of the message", examples: [examples.messageId] }),
  threadId: Type.String({ description: "Thread that it is in", examples: [examples.threadId] }),
  inboxId: Type.String({ description: "Inbox that it is in", examples: [examples.inboxId] }),
  direction: oneOf(["inbound", "outbound"], {
    description: "Whether it came in or went out",
    examples: ["inbound"],
  }),
  status: oneOf(["received", "pending", "sent", "failed"], {
    description: "`received` for inbound mail; the current status of outbound mail",
    examples: ["received"],
  }),
  fromAddr: Type.String({ description: "Address of the sender", examples: [examples.sender] }),
  fromName: nullable(Type.String({ examples: [examples.senderName] }), {
    description: "Name of the sender, if the mail has one",
  }),
  toAddr: Type.String({ description: "Address of the recipient", examples: [examples.address] }),
  cc: Type.Array(Type.String({ examples: ["joe@example.com"] }), {
    description: "Addresses of further recipients, as the mail says",
  }),
  replyTo: nullable(Type.String({ examples: ["team@example.com"] }), {
    description: "Where replies go, if not to the sender",
    examples: [null],
  }),
  subject: Type.String({ description: "Empty if it has none", examples: [examples.subject] }),
  bodyText: Type.String({
    description: "Made from the HTML if the mail has no text",
    examples: [examples.question],
  }),
  bodyHtml: nullable(Type.String({ examples: [`<p>${examples.question}</p>`] }), {
    description: "Null if the mail has no HTML. Not sanitised: do so before you show it",
  }),
  attachments: Type.Array(Attachment, { description: "Its files, with newly signed URLs" }),
  rfcMessageId: Type.String({ description: "Its `Message-ID`", examples: [examples.rfcMessageId] }),
  providerMessageId: nullable(Type.String({ examples: [examples.providerMessageId] }), {
    description: "For outbound mail: the relay's id, or our `Message-ID` until the relay names one",
    examples: [null],
  }),
  failure: nullable(Failure, {
    description: "Why it could not be delivered, when `status` is `failed`",
    examples: [null],
  }),
  mayHaveBeenSent: Type.Optional(
    Type.Literal(true, {
      description:
        "For a canceled message: an earlier attempt ended without an answer, so the message may have been sent",
    }),
  ),
  createdAt: instant({ description: "When it was received, or accepted for sending" }),
  envelopeFrom: nullable(Type.String({ examples: [examples.sender] }), {
    description: 'The sender in `MAIL FROM` of the delivering server, `""` for a bounce; null for outbound mail',
  }),
  truncated: Type.Boolean({
    description:
      "True if the mail could not be parsed completely (the raw mail has everything), or if a list cut a body at 256 KiB",
    examples: [false],
  }),
  automated: nullable(Automated, {
    description:
      "Signs that a program wrote it; null if there are none, and for outbound mail. Codes and sign-in links come from programs too",
    examples: [{ kind: "notification", reasons: ["auto-submitted"] }],
  }),
  to: Type.Array(Type.String({ examples: [examples.address] }), {
    description: "Addresses of its To field; `toAddr` for inbound mail without one",
  }),
  bcc: Type.Array(Type.String({ examples: ["archive@example.com"] }), {
    description: "For outbound mail: hidden recipients",
    examples: [[]],
  }),
  recipients: Type.Array(Recipient, {
    description: "For outbound mail: all recipients, each with the status of its copy",
    examples: [[]],
  }),
  metadata: Type.Record(Type.String(), Type.String(), {
    description: "For outbound mail: the metadata of the send",
    examples: [{}],
  }),
  tag: nullable(Type.String({ examples: ["orders"] }), {
    description: "For inbound mail: the part behind the `+` in `toAddr`",
    examples: [null],
  }),
  forwardOf: nullable(Type.String({ examples: [examples.messageId] }), {
    description: "For outbound mail: the message that it forwards",
    examples: [null],
  }),
  state: nullable(oneOf(waitingStates), {
    description: "Why it is not sent yet, if it waits for its time or for approval",
    examples: [null],
  }),
  delivery: nullable(Delivery, {
    description: "For outbound mail: the worst report about it; null until there is one",
    examples: [null],
  }),
  authentication: nullable(Authentication, {
    description:
      "For inbound mail: who really sent it; null if that was not checked (`AUTHENTICATE`). `verdict` is the word to branch on",
  }),
  spam: nullable(Spam, {
    description: "For inbound mail: what the operator's spam filter says; null without one",
    examples: [null],
  }),
};

/** A message that is returned alone. Unlike a message of a list, it always has the extracted fields. */
export const Message = named(
  "Message",
  Type.Object({ ...messageFields, ...extractedFields }, { description: "An inbound or outbound email" }),
);

export const ListedMessage = named(
  "ListedMessage",
  Type.Object(
    { ...messageFields, ...Type.Partial(Type.Object(extractedFields)).properties },
    { description: "An email in a list. `include=extracted` adds the extracted fields" },
  ),
);

/** The words that `include` accepts for lists of messages, and the fields that each adds. */
export const messageIncludes = {
  extracted: "`codes`, `links`, `extractedText` and `extractedHtml` of each message",
} as const;

export type MessageInclude = keyof typeof messageIncludes;

export interface ShowingDeps extends ExtractingDeps {
  links: AttachmentLinks;
  now: () => Date;
}

/** Makes the wire shape of a single message. Undefined if it is deleted. */
export async function toMessage(deps: ShowingDeps, accountId: string, message: ShownMessage | ShownAlone) {
  const [[shown], [extraction]] = await Promise.all([
    toListedMessages(deps, accountId, { messages: [message], include: [] }),
    extracted(deps, accountId, [message]),
  ]);
  return shown && extraction && { ...shown, ...extraction };
}

/** Makes the wire shapes of a list of messages, with freshly signed URLs of attachments and the fields of `include`. */
export async function toListedMessages(
  deps: ShowingDeps,
  accountId: string,
  { messages, include }: { messages: readonly (ShownMessage | ShownAlone)[]; include: readonly string[] },
) {
  const now = deps.now();
  const linked = await Promise.all(
    messages.flatMap(({ id, attachments }) =>
      attachments === null
        ? []
        : linkedAttachments(deps.links, id, attachments, now).then((made) => [id, made] as const),
    ),
  );
  const linkedOf = new Map(linked);
  const extractions = include.includes("extracted" satisfies MessageInclude)
    ? await extracted(deps, accountId, messages)
    : [];
  return messages.map((message, index) => ({
    ...shown(message, linkedOf.get(message.id) ?? []),
    ...extractions[index],
  }));
}

function shown(message: ShownMessage | ShownAlone, attachments: LinkedAttachment[]) {
  const rfcMessageId = `<${message.rfcMessageId}>`;
  return {
    id: message.id,
    threadId: message.threadId,
    inboxId: message.inboxId,
    direction: message.direction,
    status: message.status,
    fromAddr: message.fromAddr,
    fromName: message.fromName,
    toAddr: message.toAddr,
    cc: message.cc,
    replyTo: message.replyTo,
    subject: message.subject,
    bodyText: message.bodyText,
    bodyHtml: message.bodyHtml,
    attachments,
    rfcMessageId,
    providerMessageId: message.providerMessageId ?? (message.direction === "outbound" ? rfcMessageId : null),
    failure: toFailure(message.failure),
    ...(message.failure?.reason === "canceled" &&
      message.failure.mayHaveBeenSent && { mayHaveBeenSent: true as const }),
    createdAt: message.createdAt,
    envelopeFrom: message.envelopeFrom,
    truncated: message.truncated,
    automated: message.automated,
    ...addressing(message),
    metadata: message.metadata ?? {},
    tag: message.direction === "inbound" ? tagOf(message.toAddr) : null,
    forwardOf: message.forwardOf,
    state: "state" in message ? message.state : null,
    delivery: message.delivery,
    authentication: message.authentication && inContractOrder(message.authentication),
    spam: message.spam && toSpam(message.spam),
  };
}

/** The addresses of a message, in the order of the contract. An inbound message has no stored recipients. */
function addressing({ toAddrs: to, recipients }: ShownMessage) {
  if (recipients === null) return { to, bcc: [], recipients: [] };
  const hidden = recipients.filter(({ type }) => type === "bcc");
  return { to, bcc: hidden.map(({ address }) => address), recipients: recipients.map(toRecipient) };
}
