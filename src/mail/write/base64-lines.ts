/** The length of a full line of base64 (RFC 2045 §6.8): its characters, and the octets that they encode. */
const lineCharacters = 76;
const lineOctets = 57;

/** Encodes a file as lines of base64, with CRLF between them and none after the last. A piece may end within a line. */
export async function* base64Lines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const begun = new Uint8Array(lineOctets);
  let begunLength = 0;
  let isFirst = true;
  for await (const piece of pieces) {
    let at = 0;
    if (begunLength > 0) {
      at = Math.min(lineOctets - begunLength, piece.length);
      begun.set(piece.subarray(0, at), begunLength);
      begunLength += at;
      if (begunLength < lineOctets) continue;
      yield written(begun, isFirst);
      isFirst = false;
    }
    const end = piece.length - ((piece.length - at) % lineOctets);
    if (end > at) {
      yield written(piece.subarray(at, end), isFirst);
      isFirst = false;
    }
    begun.set(piece.subarray(end));
    begunLength = piece.length - end;
  }
  if (begunLength > 0) yield written(begun.subarray(0, begunLength), isFirst);
}

/** The number of bytes that `base64Lines` writes for a file of this many octets. */
export function base64LinesLength(octets: number): number {
  const lines = Math.ceil(octets / lineOctets);
  return Math.ceil(octets / 3) * 4 + Math.max(0, lines - 1) * 2;
}

/** Encodes octets as lines. The runtime writes one long line to the end of the buffer, and then each line is moved forward. */
function written(octets: Uint8Array, isFirst: boolean): Uint8Array {
  const text = octets.toBase64();
  const out = Buffer.allocUnsafeSlow(base64LinesLength(octets.length) + (isFirst ? 0 : 2));
  const from = out.length - text.length;
  out.write(text, from, "latin1");
  let length = 0;
  for (let start = from; start < out.length; start += lineCharacters) {
    if (start > from || !isFirst) {
      out[length++] = carriageReturn;
      out[length++] = lineFeed;
    }
    const end = Math.min(start + lineCharacters, out.length);
    out.copyWithin(length, start, end);
    length += end - start;
  }
  return out;
}

const [lineFeed, carriageReturn] = [10, 13] as const;
