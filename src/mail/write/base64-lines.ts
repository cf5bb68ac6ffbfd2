/** Files in lines of base64 (RFC 2045 §6.8). The runtime writes base64 without lines, and cutting those costs more than writing. */

/** 57 octets are the 76 characters that a line may have. */
const lineOctets = 57;

/** The lines, with CRLF between them and none behind the last. A piece may end in the middle of a line. */
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

/** Of so many octets. */
export function base64LinesLength(octets: number): number {
  const lines = Math.ceil(octets / lineOctets);
  return Math.ceil(octets / 3) * 4 + Math.max(0, lines - 1) * 2;
}

function written(octets: Uint8Array, isFirst: boolean): Uint8Array {
  const out = new Uint8Array(base64LinesLength(octets.length) + (isFirst ? 0 : 2));
  let length = 0;
  const whole = octets.length - (octets.length % 3);
  for (let at = 0; at < octets.length; at += 3) {
    if (at % lineOctets === 0 && !(isFirst && at === 0)) {
      out[length++] = carriageReturn;
      out[length++] = lineFeed;
    }
    const three = ((octets[at] ?? 0) << 16) | ((octets[at + 1] ?? 0) << 8) | (octets[at + 2] ?? 0);
    out[length++] = alphabet[three >> 18] ?? 0;
    out[length++] = alphabet[(three >> 12) & 63] ?? 0;
    out[length++] = alphabet[(three >> 6) & 63] ?? 0;
    out[length++] = alphabet[three & 63] ?? 0;
  }
  for (let missing = whole === octets.length ? 0 : 3 - (octets.length - whole); missing > 0; missing--) {
    out[length - missing] = padding;
  }
  return out;
}

const [lineFeed, carriageReturn, padding] = [10, 13, 61] as const;
const alphabet = new TextEncoder().encode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
