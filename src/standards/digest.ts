/** 128 bits of a SHA-256 in the form of a uuid: as short as a key can be that nobody can make collide by chance. */
export function shortDigest(data: string | Uint8Array): string {
  const hex = new Bun.CryptoHasher("sha256").update(data).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

export function sha256Hex(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

/** Headers that a server puts on top of a mail on its way (RFC 5321 §4.4): two copies over two ways differ in them. */
const trace = ["received", "return-path", "delivered-to", "x-original-to", "x-received"].map(bytesOf);

/** What a mail is, without how it came; where that is nothing, all of it. */
export function contentOf(raw: Uint8Array): Uint8Array {
  const start = endOfTrace(raw.subarray(0, mostHeadBytes));
  return isEmpty(raw, start, raw.length) ? raw : raw.subarray(start);
}

/** No way is so long, and no head; 25 MB of headers would hold everything else up while they are read. */
const mostHeadBytes = 256 << 10;

/** Byte by byte: to make a text of each line took a second for 25 MB of them. */
function endOfTrace(raw: Uint8Array): number {
  let start = 0;
  while (trace.some((name) => isNamed(raw, start, name))) {
    const end = endOfField(raw, start);
    if (raw[end - 1] !== lf || hasBareCr(raw, start, end)) break;
    start = end;
  }
  return start;
}

/** Some readers end the line there, so that what follows is another header, or the text. */
function hasBareCr(raw: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (raw[at] === cr && raw[at + 1] !== lf) return true;
  return false;
}

const marks = ["message-id", "date"].map(bytesOf);

/** Whether a mail says which one it is, by a Message-ID or a Date: two alerts that read alike and say neither are two. */
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

/** Whether a name stands here, and a colon behind it. */
function isField(raw: Uint8Array, start: number): boolean {
  let at = start;
  while (isVisible(raw[at]) && raw[at] !== colon) at += 1;
  return at > start && raw[pastBlanks(raw, at)] === colon;
}

/** `name` is in lower case. */
function isNamed(raw: Uint8Array, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at += 1) {
    const byte = raw[start + at] ?? 0;
    if ((byte >= upperA && byte <= upperZ ? byte | 0x20 : byte) !== name[at]) return false;
  }
  return raw[pastBlanks(raw, start + name.length)] === colon;
}

/** White space between a name and its colon was allowed once (RFC 5322 §4.5). */
function pastBlanks(raw: Uint8Array, start: number): number {
  let at = start;
  while (raw[at] === space || raw[at] === tab) at += 1;
  return at;
}

/** Behind the lines that a field goes on over (RFC 5322 §2.2.3). */
function endOfField(raw: Uint8Array, start: number): number {
  let at = start;
  while (at < raw.length && (raw[at] !== lf || raw[at + 1] === space || raw[at + 1] === tab)) at += 1;
  return Math.min(at + 1, raw.length);
}

/** Whether nothing is said here: white space, or the brackets of an id alone. */
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
