import type { OutgoingMail } from "../../domain/message.ts";
import { headerFields } from "./header.ts";
import { bodyOf, type Piece } from "./parts.ts";

/**
 * A mail without attachments as it goes on the wire (RFC 5322, RFC 2045): CRLF, lines of at most 998 octets, ASCII alone unless
 * `needsSmtpUtf8`. The same mail gives the same bytes, so a retry sends what the first attempt sent. Whatever a field holds,
 * the header set is exactly ours and the mail's further fields: line breaks and controls in a text become spaces, an address or
 * Message-ID that holds any is a bug of the caller and thrown.
 */
export function composeMail(mail: OutgoingMail): Uint8Array {
  const { header, body } = piecesOf(mail);
  const text = body.map((piece) => {
    if (typeof piece !== "string") throw new Error("Cannot compose mail in memory: it has attachments");
    return piece;
  });
  return new TextEncoder().encode(`${header}${text.join("")}`);
}

/** The header with the empty line behind it, and what follows. */
export function piecesOf(mail: OutgoingMail): { header: string; body: Piece[] } {
  const { fields, content } = bodyOf(mail);
  return { header: `${[...headerFields(mail), ...fields].join("\r\n")}\r\n\r\n`, body: content };
}
