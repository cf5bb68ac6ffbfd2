/**
 * The kinds of ids. An id is the prefix of its kind and 26 base-32 characters of a UUIDv7. It sorts by time, so that the newest rows are
 * adjacent in every index. The time of an id is that of its row.
 */
export type IdKind =
  | "acc"
  | "inb"
  | "msg"
  | "thr"
  | "evt"
  | "key"
  | "att"
  | "out"
  | "src"
  | "whk"
  | "upl"
  | "rep"
  | "sup"
  | "dom"
  | "aud"
  | "opk"
  | "grt"
  | "ocl"
  | "rul"
  | "qua"
  | "ltr"
  | "seg";

/** Crockford's alphabet in lower case. It is in ASCII order, so that text order is time order. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const shape = /^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** True for an id of this kind. A router passes `null` for a path with invalid percent-encoding. */
export function isId(kind: IdKind, text: string | null): boolean {
  return text !== null && shape.test(text) && text.startsWith(`${kind}_`);
}

export type NewId = (kind: IdKind, at: Date) => string;

/**
 * Creates a maker of ids. Its ids increase strictly, also within a millisecond: the 74 bits after the time count up from a random start
 * (RFC 9562 §6.2, method 2). If the clock goes back, the last instant is used.
 *
 * The bits are kept in the groups in which they are written, because a BigInt of 128 bits costs more than the rest of an id.
 */
export function idMaker(randomBytes: (length: number) => Uint8Array): NewId {
  let lastMs = -1;
  let time = "";
  let high = 0; // 12 bits beside the version
  let top = 0; // 2 bits beside the variant
  let middle = 0; // 30 bits
  let low = 0; // 30 bits

  function draw(ms: number): void {
    lastMs = ms;
    time = timeOf(ms);
    const bytes = randomBytes(10);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 10);
    high = view.getUint16(0) & 0x7ff;
    top = view.getUint32(2) >>> 30;
    middle = view.getUint32(2) & mask30;
    low = view.getUint32(6) & mask30;
  }

  function countUp(step: number): void {
    low += step;
    if (low <= mask30) return;
    low &= mask30;
    middle += 1;
    if (middle <= mask30) return;
    middle = 0;
    top += 1;
    if (top <= 3) return;
    top = 0;
    high += 1;
    if (high > 0xfff) draw(lastMs + 1);
  }

  return (kind, at) => {
    const ms = at.getTime();
    if (ms > lastMs) draw(ms);
    else countUp(1 + (randomBytes(1)[0] ?? 0));
    // Version 7 and the 12 bits of `high`, then variant 10 and the 2 bits of `top`: twenty bits, four characters.
    const marked = (0x7000 | high) * 16 + (0b1000 | top);
    return `${kind}_${time}${base32(marked, 4)}${base32(middle, 6)}${base32(low, 6)}`;
  };
}

const mask30 = 0x3fff_ffff;

/** The ten characters after the prefix of an id, which are its instant. */
function timeOf(ms: number): string {
  return base32(Math.floor(ms / 2 ** 25), 5) + base32(ms % 2 ** 25, 5);
}

/** An id of another kind and instant, whose other bits are the same as in the given id. */
export function idBeside(id: string, kind: IdKind, at: Date): string {
  return `${kind}_${timeOf(at.getTime())}${id.slice(14)}`;
}

/** The text that sorts before all ids of this kind from `at` on, and after all earlier ones. */
export function beginningOfIds(kind: IdKind, at: Date): string {
  return `${kind}_${timeOf(at.getTime())}`;
}

/** The lowest `5 * length` bits of a number as `length` characters, at most six. */
export function base32(value: number, length: number): string {
  let text = "";
  for (let shift = 5 * (length - 1); shift >= 0; shift -= 5) text += alphabet[(value >>> shift) & 31];
  return text;
}

/** The instant of an id, or of the beginning of ids. */
export function instantOfId(id: string): Date {
  let value = 0;
  for (const character of id.slice(4, 14)) value = value * 32 + alphabet.indexOf(character);
  // The ten characters are two bits of padding and the first 48 of 128 bits, which are the milliseconds.
  return new Date(value);
}
