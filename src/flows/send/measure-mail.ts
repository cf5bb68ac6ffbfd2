import type { CustomHeader, OutgoingMail } from "../../domain/message.ts";
import type { MeasuredSend, MeasureMail } from "../../domain/send/mail-limit.ts";
import { mailSize } from "../../mail/write/compose.ts";
import { type DkimSigner, ownDomainSignature } from "../../mail/write/dkim.ts";
import { splitAddress } from "../../standards/address.ts";

export interface AddedOnTheWay {
  /** The signature of mail from MAIL_DOMAIN. */
  signing: DkimSigner | undefined;
  mailDomain: string;
  /** The header fields for the relay only. */
  relayHeaders: (messageId: string) => readonly CustomHeader[];
}

/**
 * Makes the function that measures a mail as it would be sent, with its signature and the header fields for the relay. The result is
 * undefined for mail that is certainly below the limit, as most is: it is not measured.
 */
export function mailMeasure(maxBytes: number, { signing, mailDomain, relayHeaders }: AddedOnTheWay): MeasureMail {
  const measure = (send: MeasuredSend) => {
    const { text, html, attachments } = send;
    const longest = (text.length + html.length) * mostBytesOfUnit + roomForHeader;
    if (attachments.length === 0 && longest < maxBytes) return undefined;
    const { domain = mailDomain } = splitAddress(send.from) ?? {};
    const signature = domain.toLowerCase() === mailDomain.toLowerCase() ? signing : ownDomainSignature(domain);
    return mailSize({ ...mailOf(send), relayHeaders: relayHeaders(send.messageId) }, signature);
  };
  return { maxBytes, measure };
}

/**
 * The most bytes of one UTF-16 unit in a mail: up to 3 bytes in UTF-8, each of which takes 3 in quoted-printable, and the breaks of long
 * lines come on top.
 */
const mostBytesOfUnit = 10;
const roomForHeader = 200_000;

function mailOf(send: MeasuredSend): OutgoingMail {
  const { from, fromName, recipients, request, content, attachments, headers, rfcMessageId, at } = send;
  const of = (type: "to" | "cc") =>
    recipients.flatMap(({ address, name, ...each }) =>
      each.type === type ? [{ address, ...(name !== undefined && { name }) }] : [],
    );
  return {
    messageId: rfcMessageId,
    date: at,
    from: { address: from, ...(typeof fromName === "string" && { name: fromName }) },
    to: of("to"),
    cc: of("cc"),
    replyTo: request.replyTo,
    subject: content.subject,
    bodyText: content.bodyText,
    bodyHtml: content.bodyHtml,
    inReplyTo: content.inReplyTo,
    references: content.references,
    autoSubmitted: request.autoSubmitted,
    headers,
    attachments,
  };
}
