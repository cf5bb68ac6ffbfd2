import type { OutgoingAttachment, OutgoingMail } from "../../domain/message.ts";
import { base64Lines, base64LinesLength } from "./base64-lines.ts";
import { piecesOf } from "./compose.ts";
import type { DkimSigner } from "./dkim.ts";
import { type Piece, transferEncoding } from "./parts.ts";

/** The bytes of a file, in pieces of any length. */
export type OpenBytes = (attachment: OutgoingAttachment) => AsyncIterable<Uint8Array>;

/** A mail in pieces, the first of which is its header with the empty line behind it. Of its files one piece is in memory. */
export async function* composeStream(mail: OutgoingMail, open: OpenBytes): AsyncGenerator<Uint8Array> {
  const { header, body } = piecesOf(mail);
  yield encoder.encode(header);
  for (const piece of body) {
    if (typeof piece === "string") yield encoder.encode(piece);
    else if (transferEncoding(piece) === "base64") yield* base64Lines(whole(piece, open));
    else yield* whole(piece, open);
  }
}

/** The length of the mail as the relay will see it, from the lengths of its files. */
export function mailSize(mail: OutgoingMail, signing: DkimSigner | undefined): number {
  const { header, body } = piecesOf(mail);
  const written = encoder.encode(header);
  const sizeBytes = body.reduce((sum, piece) => sum + sizeOf(piece), written.length);
  return sizeBytes + (signing?.fieldSize(written, mail) ?? 0);
}

const encoder = new TextEncoder();

function sizeOf(piece: Piece): number {
  if (typeof piece === "string") return Buffer.byteLength(piece);
  return transferEncoding(piece) === "base64" ? base64LinesLength(piece.sizeBytes) : piece.sizeBytes;
}

/** A file that is not as long as the mail says would make another mail of it. */
async function* whole(file: OutgoingAttachment, open: OpenBytes): AsyncGenerator<Uint8Array> {
  let left = file.sizeBytes;
  for await (const piece of open(file)) {
    left -= piece.length;
    if (left < 0) break;
    yield piece;
  }
  if (left !== 0) throw new Error("Cannot compose mail: a file has another length than it said");
}
