import { isUtf8 } from "node:buffer";

export type TransferEncoding = "base64" | "quoted-printable" | "uuencode" | "none";

/** Decodes a body. It accepts any bytes: those that are invalid in the encoding are skipped or kept. */
export function decodeTransfer(body: Buffer, encoding: TransferEncoding): Uint8Array {
  if (encoding === "base64") return decodeBase64(body);
  if (encoding === "quoted-printable") return decodeQuotedPrintable(body);
  if (encoding === "uuencode") return decodeUuencoded(body);
  return new Uint8Array(body);
}

/**
 * Decodes base64 (RFC 2045 §6.8) from bytes to bytes, since a string would take three times the memory. Decoding goes on after padding:
 * some senders pad each line, or join padded pieces. Bytes outside of the alphabet are ignored. After padding, however, a line with such
 * bytes ends the data, because a mailing list or a gateway added it.
 */
function decodeBase64(body: Buffer): Uint8Array {
  const decoded = new Uint8Array(Math.ceil(body.length / 4) * 3);
  let length = 0;
  let bits = 0;
  let digits = 0;
  let beforeLine: { length: number; bits: number; digits: number } | undefined; // the state at the start of the line, once padding was seen
  for (let at = 0; at < body.length; at++) {
    const digit = base64Digits[body[at] ?? 0] ?? noise;
    if (digit < 64) {
      bits = (bits << 6) | digit;
      if (++digits < 4) continue;
      decoded[length++] = bits >> 16;
      decoded[length++] = bits >> 8;
      decoded[length++] = bits;
    } else if (digit === noise) {
      if (beforeLine === undefined) continue;
      if (body[at] === lf) beforeLine = { length, bits, digits };
      if (isWhite(body[at])) continue;
      ({ length, bits, digits } = beforeLine);
      break;
    }
    if (digit === padding) {
      length = endRun(decoded, length, bits, digits);
      beforeLine = { length, bits: 0, digits: 0 };
    }
    bits = 0;
    digits = 0;
  }
  return exactly(decoded, endRun(decoded, length, bits, digits));
}

/**
 * True if a body with the label base64 can be base64. Prose has a space or a sign every few letters, base64 only line breaks. A body that
 * ends within a group of four, without padding, counts only if it decodes to UTF-8.
 */
export function isBase64(body: Buffer): boolean {
  const paddingAt = body.indexOf("=");
  const seen = body.subarray(0, Math.min(paddingAt < 0 ? body.length : paddingAt, mostLookedAt));
  let digits = 0;
  let others = 0;
  for (let at = 0; at < seen.length; at++) {
    const byte = seen[at] ?? 0;
    if (base64Digits[byte] !== noise) digits += 1;
    else if (byte !== lf && byte !== cr) others += 1;
  }
  if (others > 0.05 * (digits + others)) return false;
  const isCut = paddingAt < 0 && seen.length === body.length && digits % 4 !== 0;
  return !isCut || isUtf8(decodeBase64(body));
}

const mostLookedAt = 1024;

function isWhite(byte: number | undefined): boolean {
  return byte === lf || byte === cr || byte === 0x20 || byte === 0x09;
}

/** Decodes the incomplete group of four digits at the end of a run: two digits are one byte, three digits are two. */
function endRun(decoded: Uint8Array, from: number, bits: number, digits: number): number {
  let length = from;
  if (digits === 2) decoded[length++] = bits >> 4;
  if (digits === 3) {
    decoded[length++] = bits >> 10;
    decoded[length++] = bits >> 2;
  }
  return length;
}

const padding = 64;
const noise = 255;
const base64Digits = new Uint8Array(256).fill(noise);
for (const [value, digit] of [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="].entries()) {
  base64Digits[digit.charCodeAt(0)] = value;
}

/**
 * Decodes quoted-printable (RFC 2045 §6.7). Line breaks after `=` are removed, and so is white space at the end of a line, which relays
 * add. Invalid codes are kept as written.
 */
function decodeQuotedPrintable(body: Buffer): Uint8Array {
  const decoded = new Uint8Array(body.length);
  let length = 0;
  let lineEnd = 0; // the end of this line without trailing white space
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] ?? 0;
    if (byte === equals) {
      const code = hexPair(body[at + 1], body[at + 2]);
      const softBreak = code < 0 ? endOfSoftBreak(body, at + 1) : -1;
      if (softBreak >= 0) {
        at = softBreak - 1;
      } else if (code >= 0) {
        decoded[length++] = code;
        at += 2;
      } else {
        decoded[length++] = byte;
      }
      lineEnd = length;
    } else if (byte === lf || (byte === cr && body[at + 1] === lf)) {
      length = lineEnd;
      decoded[length++] = byte;
      if (byte === cr) decoded[length++] = body[++at] ?? lf;
      lineEnd = length;
    } else {
      decoded[length++] = byte;
      if (byte !== 0x20 && byte !== 0x09) lineEnd = length;
    }
  }
  return exactly(decoded, lineEnd);
}

/** The offset after the line break that follows a `=`, or -1 if something other than white space stands between them. */
function endOfSoftBreak(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x09) at++;
  if (body[at] === cr) at++;
  if (at >= body.length) return body.length;
  return body[at] === lf ? at + 1 : -1;
}

function hexPair(high: number | undefined, low: number | undefined): number {
  const first = hexDigit(high ?? 0);
  const second = hexDigit(low ?? 0);
  return first < 0 || second < 0 ? -1 : first * 16 + second;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** Decodes the lines between `begin` and `end`. The first character of a line is its number of bytes. Without `begin` the body is kept. */
function decodeUuencoded(body: Buffer): Uint8Array {
  const begin = body.toString("latin1", 0, 6) === "begin " ? 0 : body.indexOf("\nbegin ");
  if (begin < 0) return new Uint8Array(body);
  const decoded = new Uint8Array(body.length);
  let length = 0;
  for (let at = body.indexOf(lf, begin + 1) + 1; at > 0 && at < body.length; ) {
    const lineFeed = body.indexOf(lf, at);
    const end = lineFeed < 0 ? body.length : lineFeed;
    const bytes = uuDigit(body[at]);
    if (bytes === 0 || body.toString("latin1", at, at + 3) === "end") break;
    length = decodeUuLine(body.subarray(at + 1, end), bytes, decoded, length);
    at = end + 1;
  }
  return exactly(decoded, length);
}

function decodeUuLine(line: Buffer, bytes: number, decoded: Uint8Array, from: number): number {
  let length = from;
  // A relay may have removed spaces at the end of the line, which mean zero.
  for (let left = bytes, at = 0; left > 0 && length + 3 <= decoded.length; left -= 3, at += 4) {
    const bits =
      (uuDigit(line[at]) << 18) | (uuDigit(line[at + 1]) << 12) | (uuDigit(line[at + 2]) << 6) | uuDigit(line[at + 3]);
    decoded[length++] = bits >> 16;
    if (left > 1) decoded[length++] = bits >> 8;
    if (left > 2) decoded[length++] = bits;
  }
  return length;
}

/** The value of a digit of uuencode. Space and backquote are both zero. */
function uuDigit(byte: number | undefined): number {
  return byte === undefined || byte < 0x20 || byte > 0x60 ? 0 : (byte - 0x20) & 0x3f;
}

/** The first `length` bytes in a buffer of this size, because sending a view to another process sends its whole buffer. */
function exactly(decoded: Uint8Array<ArrayBuffer>, length: number): Uint8Array {
  return new Uint8Array(decoded.buffer.transfer(length));
}

const equals = 0x3d;
const lf = 0x0a;
const cr = 0x0d;
