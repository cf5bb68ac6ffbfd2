import type { OutgoingMail } from "../../domain/message.ts";
import type { MailedAttachment } from "../../store/mail/attachments.ts";
import type { RelayedMessage } from "../../store/send/relaying.ts";

/** A stored outbound message as the mail that goes out: the same each time, so that each attempt sends the same bytes. */
export function outgoingMail(
  message: Omit<RelayedMessage, "id" | "status">,
  attachments: readonly MailedAttachment[],
): OutgoingMail {
  return {
    messageId: message.rfcMessageId,
    date: message.createdAt,
    from: { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) },
    to: [{ address: message.toAddr }],
    cc: [],
    replyTo: message.replyTo ?? undefined,
    subject: message.subject,
    bodyText: message.bodyText,
    bodyHtml: message.bodyHtml ?? undefined,
    inReplyTo: message.inReplyTo ?? undefined,
    references: message.referenceIds ?? [],
    autoSubmitted: message.autoSubmitted ?? undefined,
    headers: [],
    attachments: attachments.map(({ messageId: _of, contentId, ...file }) => ({
      ...file,
      contentId: contentId ?? undefined,
    })),
  };
}
