import type { Db } from "../../database/db.ts";
import type { CustomHeader, Mailbox, OutgoingMail } from "../../domain/message.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import { listOutgoingAttachments, type MailedAttachment } from "../../store/mail/attachments.ts";
import type { StoredMessage } from "../../store/mail/message-pages.ts";
import type { RelayedMessage } from "../../store/send/relaying.ts";

/** What a message is composed of, and where it has rows of recipients those: their names stand nowhere else. */
export type ComposedMessage = Omit<RelayedMessage, "id" | "status"> & {
  headers?: readonly CustomHeader[] | null;
  recipients?: readonly Pick<RecipientOutcome, "address" | "name" | "type">[] | null;
};

/** A stored outbound message as the mail that goes out: the same each time, so that each attempt sends the same bytes. */
export function outgoingMail(message: ComposedMessage, attachments: readonly MailedAttachment[]): OutgoingMail {
  return {
    messageId: message.rfcMessageId,
    date: message.createdAt,
    from: { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) },
    to: message.recipients ? named(message.recipients, "to") : [{ address: message.toAddr }],
    cc: named(message.recipients ?? [], "cc"),
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

/** The same of one that was read to be shown, whatever for: nothing of a mail of ours is kept but what it is made of. */
export async function outgoingMailOf(db: Db, message: StoredMessage): Promise<OutgoingMail> {
  const attachments = await listOutgoingAttachments(db, [message.id]);
  return outgoingMail({ ...message, createdAt: new Date(message.createdAt) }, attachments);
}

/** Those whom the mail itself names; who got it in secret is in no field of it. */
function named(recipients: NonNullable<ComposedMessage["recipients"]>, type: "to" | "cc"): Mailbox[] {
  return recipients
    .filter((recipient) => recipient.type === type)
    .map(({ address, name }) => (name === null ? { address } : { address, name }));
}
