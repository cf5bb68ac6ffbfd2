import { Type } from "@sinclair/typebox";
import { type AttachmentLinks, type LinkedAttachment, linkedAttachments } from "../../flows/read/attachment-links.ts";
import type { ShownMessage } from "../../store/mail/message-pages.ts";
import { instant, nullable, oneOf } from "../shell/models.ts";

export const Attachment = Type.Object({
  filename: Type.String({ examples: ["invoice.pdf"] }),
  contentType: Type.String({ examples: ["application/pdf"] }),
  sizeBytes: Type.Integer({ examples: [48213] }),
  url: Type.String({
    description: "Fetches the bytes without a key until `expiresAt`",
    examples: [
      "http://localhost:3000/v1/attachments/msg_01jpw7z1x2e9a8r5k3m0t6vqhd/invoice.pdf?expires=1774088700&signature=9f2c…",
    ],
  }),
  id: Type.String({ examples: ["att_01jpw7z1x2e9a8r5k3m0t6vqhf"] }),
  contentId: nullable(Type.String({ examples: ["logo@example.com"] })),
  inline: Type.Boolean({ examples: [false] }),
  expiresAt: instant({ examples: ["2026-03-21T10:20:00.000Z"] }),
});

export const Message = Type.Object({
  id: Type.String({ examples: ["msg_01jpw7z1x2e9a8r5k3m0t6vqhd"] }),
  threadId: Type.String({ examples: ["thr_01jpw7z1x2e9a8r5k3m0t6vqhe"] }),
  inboxId: Type.String({ examples: ["inb_01jpw7z1x2e9a8r5k3m0t6vqhc"] }),
  direction: oneOf(["inbound", "outbound"], { examples: ["inbound"] }),
  status: oneOf(["received", "pending", "sent", "failed"], { examples: ["received"] }),
  fromAddr: Type.String({ examples: ["jane@example.com"] }),
  fromName: nullable(Type.String({ examples: ["Jane Doe"] })),
  toAddr: Type.String({ examples: ["ada@inbox.localhost"] }),
  cc: Type.Array(Type.String({ examples: ["joe@example.com"] })),
  replyTo: nullable(Type.String({ examples: ["team@example.com"] })),
  subject: Type.String({ examples: ["Your order"] }),
  bodyText: Type.String({ description: "Made from the HTML where only HTML came", examples: ["Where is it?"] }),
  bodyHtml: nullable(Type.String({ examples: ["<p>Where is it?</p>"] })),
  attachments: Type.Array(Attachment),
  rfcMessageId: Type.String({ examples: ["<CAF1@mail.example.com>"] }),
  providerMessageId: nullable(
    Type.String({
      description: "Of outbound mail: the relay's own id, until it is known our `Message-ID`",
      examples: ["4F5xQ21zT9"],
    }),
  ),
  failure: nullable(
    Type.Object({
      code: nullable(Type.Integer({ examples: [550] })),
      enhancedCode: nullable(Type.String({ examples: ["5.1.1"] })),
      message: Type.String({ examples: ["No such user"] }),
    }),
    { description: "Why it could not be delivered, when `status` is `failed`" },
  ),
  createdAt: instant(),
  envelopeFrom: nullable(
    Type.String({
      description:
        'The sender that the delivering server named (`MAIL FROM`), `""` for a bounce; null for outbound and older mail',
      examples: ["bounces@example.com"],
    }),
  ),
  truncated: Type.Boolean({
    description:
      "True where the mail could not be read whole (the raw source has all of it), and in a list where a body is cut at 256 KiB",
    examples: [false],
  }),
});

/** Messages as they are shown, with fresh addresses for their attachments. */
export async function toMessages(links: AttachmentLinks, now: Date, messages: readonly ShownMessage[]) {
  const linked = await Promise.all(
    messages.flatMap(({ id, attachments }) =>
      attachments === null ? [] : linkedAttachments(links, id, attachments, now).then((made) => [id, made] as const),
    ),
  );
  const linkedOf = new Map(linked);
  return messages.map((message) => shown(message, linkedOf.get(message.id) ?? []));
}

function shown(message: ShownMessage, attachments: LinkedAttachment[]) {
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
    failure: message.failure,
    createdAt: message.createdAt,
    envelopeFrom: message.envelopeFrom,
    truncated: message.truncated,
  };
}
