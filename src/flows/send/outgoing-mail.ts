import type { Db } from "../../database/db.ts";
import type { Mailbox, OutgoingMail } from "../../domain/message.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import { listOutgoingAttachments, type MailedAttachment } from "../../store/mail/attachments.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import type { RelayedMessage } from "../../store/send/relaying.ts";

/** The parts of a message from which its mail is composed. */
export type ComposedMessage = Omit<RelayedMessage, "id" | "attachmentCount" | "recipients"> & {
  recipients: readonly Pick<RecipientOutcome, "address" | "name" | "type">[];
};

/** Makes the mail of a stored outbound message. The result depends only on what is stored, so that each attempt sends the same bytes. */
export function outgoingMail(message: ComposedMessage, attachments: readonly MailedAttachment[]): OutgoingMail {
  return {
    messageId: message.rfcMessageId,
    date: message.createdAt,
    from: { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) },
    to: mailboxesOf(message.recipients, "to"),
    cc: mailboxesOf(message.recipients, "cc"),
    replyTo: message.replyTo ?? undefined,
    subject: message.subject,
    bodyText: message.bodyText,
    bodyHtml: message.bodyHtml ?? undefined,
    inReplyTo: message.inReplyTo ?? undefined,
    references: message.referenceIds ?? [],
    autoSubmitted: message.autoSubmitted ?? undefined,
    headers: message.headers ?? [],
    attachments: attachments.map(({ messageId: _of, contentId, ...file }) => ({
      ...file,
      contentId: contentId ?? undefined,
    })),
  };
}

/** Makes the mail of an outbound message again, from the row that the API reads: its raw bytes are not stored. */
export async function outgoingMailOf(db: Db, message: StoredMessage): Promise<OutgoingMail> {
  const attachments = await listOutgoingAttachments(db, [message.id]);
  const { recipients, createdAt } = message;
  return outgoingMail({ ...message, recipients: recipients ?? [], createdAt: new Date(createdAt) }, attachments);
}

/** The recipients in a header field of the mail. Bcc recipients are in no header field. */
function mailboxesOf(recipients: ComposedMessage["recipients"], type: "to" | "cc"): Mailbox[] {
  return recipients
    .filter((recipient) => recipient.type === type)
    .map(({ address, name }) => (name === null ? { address } : { address, name }));
}
