/** The first 128 bits of the SHA-256 of the data, as a uuid: a short key that does not collide by chance. */
export function shortDigest(data: string | Uint8Array): string {
  const hex = new Bun.CryptoHasher("sha256").update(data).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

export function sha256Hex(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

export function sha256Base64(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("base64");
}

/** The names of trace fields, which servers add before a mail (RFC 5321 §4.4). Copies that came by different routes differ in them. */
const trace = ["received", "return-path", "delivered-to", "x-original-to", "x-received"].map(bytesOf);

/** A mail without its trace fields, or all of it if nothing else is left. */
export function contentOf(raw: Uint8Array): Uint8Array {
  const start = endOfTrace(raw.subarray(0, mostHeadBytes));
  return isEmpty(raw, start, raw.length) ? raw : raw.subarray(start);
}

/** The most octets of a header that are read; real headers are shorter. Reading a header of 25 MB would block the process. */
const mostHeadBytes = 256 << 10;

/** The offset after the trace fields. The code reads bytes, because making strings of 25 MB of lines took a second. */
function endOfTrace(raw: Uint8Array): number {
  let start = 0;
  while (trace.some((name) => isNamed(raw, start, name))) {
    const end = endOfField(raw, start);
    if (raw[end - 1] !== lf || hasBareCr(raw, start, end)) break;
    start = end;
  }
  return start;
}

/** True if the range has a CR without LF. Some readers end the line there, and read the rest as another field or as the text. */
function hasBareCr(raw: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (raw[at] === cr && raw[at + 1] !== lf) return true;
  return false;
}

const marks = ["message-id", "date"].map(bytesOf);

/**
 * True if a mail has a Message-ID or a Date that is not empty. Two identical mails without both may be two different alerts, not copies of
 * one mail.
 */
export function isMarked(raw: Uint8Array): boolean {
  const head = raw.subarray(0, mostHeadBytes);
  let start = 0;
  while (isField(head, start)) {
    const end = endOfField(head, start);
    if (marks.some((name) => isNamed(head, start, name)) && !isEmpty(head, head.indexOf(colon, start) + 1, end))
      return true;
    start = end;
  }
  return false;
}

/** True if a field name and its colon begin at this offset. */
function isField(raw: Uint8Array, start: number): boolean {
  let at = start;
  while (isVisible(raw[at]) && raw[at] !== colon) at += 1;
  return at > start && raw[pastBlanks(raw, at)] === colon;
}

/** True if the field at this offset has this name, which is in lower case. */
function isNamed(raw: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at += 1) {
    const byte = raw[start + at] ?? 0;
    if ((byte >= upperA && byte <= upperZ ? byte | 0x20 : byte) !== name[at]) return false;
  }
  return raw[pastBlanks(raw, start + name.length)] === colon;
}

/** The offset after the white space at `start`. Older mail has such space between the name of a field and its colon (RFC 5322 §4.5). */
function pastBlanks(raw: Uint8Array, start: number): number {
  let at = start;
  while (raw[at] === space || raw[at] === tab) at += 1;
  return at;
}

/** The offset after a field with its continuation lines (RFC 5322 §2.2.3). */
function endOfField(raw: Uint8Array, start: number): number {
  let at = start;
  while (at < raw.length && (raw[at] !== lf || raw[at + 1] === space || raw[at + 1] === tab)) at += 1;
  return Math.min(at + 1, raw.length);
}

/** True if the range has only white space and angle brackets, like a field with an empty id (`<>`). */
function isEmpty(raw: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = raw[at];
    if (isVisible(byte) && byte !== 0x3c && byte !== 0x3e) return false;
  }
  return true;
}

function isVisible(byte: number | undefined): boolean {
  return byte !== undefined && byte > space && byte !== 0x7f;
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const tab = 0x09;
const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const colon = 0x3a;
const upperA = 0x41;
const upperZ = 0x5a;
