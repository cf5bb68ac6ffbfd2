import type { OutgoingAttachment, OutgoingMail } from "../../domain/message.ts";
import { base64Lines, base64LinesLength } from "./base64-lines.ts";
import type { DkimSigner } from "./dkim.ts";
import { headerFields } from "./header.ts";
import { bodyOf, type Piece, transferEncoding } from "./parts.ts";

/**
 * The bytes of a mail without attachments (RFC 5322, RFC 2045): CRLF, lines of at most 998 octets, only ASCII unless `needsSmtpUtf8`. The
 * same mail gives the same bytes, so that a retry repeats the first attempt. The header has only our fields and the mail's custom fields:
 * line breaks and controls in a text become spaces. In an address or Message-ID they are a bug of the caller, so composing throws.
 */
export function composeMail(mail: OutgoingMail): Uint8Array {
  const { header, body } = piecesOf(mail);
  const text = body.map((piece) => {
    if (typeof piece !== "string") throw new Error("Cannot compose mail in memory: it has attachments");
    return piece;
  });
  return encoder.encode(`${header}${text.join("")}`);
}

/** Opens the bytes of a file, in pieces of any length. */
export type OpenBytes = (attachment: OutgoingAttachment) => AsyncIterable<Uint8Array>;

/** A mail in pieces. The first is its header with the empty line. Only one piece of its files is in memory at a time. */
export async function* composeStream(mail: OutgoingMail, open: OpenBytes): AsyncGenerator<Uint8Array> {
  const { header, body } = piecesOf(mail);
  yield encoder.encode(header);
  for (const piece of body) {
    if (typeof piece === "string") yield encoder.encode(piece);
    else if (transferEncoding(piece) === "base64") yield* base64Lines(whole(piece, open));
    else yield* whole(piece, open);
  }
}

/** The size in bytes of the mail as sent to the relay, computed from the sizes of its files without reading them. */
export function mailSize(mail: OutgoingMail, signing: Pick<DkimSigner, "fieldSize"> | undefined): number {
  const { header, body } = piecesOf(mail);
  const written = encoder.encode(header);
  const sizeBytes = body.reduce((sum, piece) => sum + sizeOf(piece), written.length);
  return sizeBytes + (signing?.fieldSize(written, mail) ?? 0);
}

const encoder = new TextEncoder();

function piecesOf(mail: OutgoingMail): { header: string; body: Piece[] } {
  const { fields, content } = bodyOf(mail);
  return { header: `${[...headerFields(mail), ...fields].join("\r\n")}\r\n\r\n`, body: content };
}

function sizeOf(piece: Piece): number {
  if (typeof piece === "string") return Buffer.byteLength(piece);
  return transferEncoding(piece) === "base64" ? base64LinesLength(piece.sizeBytes) : piece.sizeBytes;
}

/** Yields the bytes of a file. Throws if their number is not `sizeBytes`, from which the size of the mail was computed. */
async function* whole(file: OutgoingAttachment, open: OpenBytes): AsyncGenerator<Uint8Array> {
  let left = file.sizeBytes;
  for await (const piece of open(file)) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error("Cannot compose mail: the length of a file is not its stated size");
}
