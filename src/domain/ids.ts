/**
 * Ids are a prefix that tells the kind and 26 base-32 characters of a UUIDv7: sortable by time, so that
 * the newest rows lie together in every index. The time of an id is the time of its row.
 */
export type IdKind = "acc" | "inb" | "msg" | "thr" | "evt" | "key" | "att" | "out" | "src";

/** Crockford's alphabet in lower case: in ASCII order, so that text order is time order. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const shape = /^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$/;

export function isId(kind: IdKind, text: string): boolean {
  return text.startsWith(`${kind}_`) && shape.test(text);
}

export type NewId = (kind: IdKind, at: Date) => string;

/**
 * A maker of ids. Ids of one maker are strictly increasing also within a millisecond: the 74 bits behind
 * the time count up from a random start (RFC 9562 §6.2, method 2). A clock that goes back keeps its last instant.
 * Four ids are made for each mail, so they are counted in plain numbers: 12, 30 and 32 bits.
 */
export function idMaker(randomBytes: (length: number) => Uint8Array): NewId {
  let lastMs = -1;
  let time = "";
  let high = 0;
  let middle = 0;
  let low = 0;

  function begin(ms: number): void {
    lastMs = ms;
    time = base32(Math.floor(ms / 2 ** 40), 2) + base32(ms % 2 ** 40, 8);
    const bytes = randomBytes(10);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 10);
    high = view.getUint16(0) & 0x7ff;
    middle = view.getUint32(2) >>> 2;
    low = view.getUint32(6);
  }

  function countOn(): void {
    low += 1 + (randomBytes(1)[0] ?? 0);
    if (low < 2 ** 32) return;
    low -= 2 ** 32;
    middle += 1;
    if (middle < 2 ** 30) return;
    middle = 0;
    // It began in the lower half: the upper one is more than any millisecond can use up.
    high += 1;
  }

  return (kind, at) => {
    const ms = at.getTime();
    if (ms > lastMs) begin(ms);
    else countOn();
    // Version 7 before the first bits, variant 2 before the next; cut into twice 40 bits.
    const upper = (0x7000 + high) * 2 ** 24 + (0x800000 + Math.floor(middle / 2 ** 8));
    const lower = (middle % 2 ** 8) * 2 ** 32 + low;
    return `${kind}_${time}${base32(upper, 8)}${base32(lower, 8)}`;
  };
}

/** Two characters for each ten bits. */
const pairs = Array.from({ length: 1024 }, (_, bits) => `${alphabet[bits >> 5]}${alphabet[bits & 31]}`);

/** The lowest bits of a number as so many characters; an even number of them. */
function base32(value: number, characters: number): string {
  let text = "";
  for (let rest = value; text.length < characters; rest = Math.floor(rest / 1024)) text = pairs[rest % 1024] + text;
  return text;
}

/** The instant that an id was made at. */
export function instantOfId(id: string): Date {
  let value = 0;
  for (const character of id.slice(4, 14)) value = value * 32 + alphabet.indexOf(character);
  // Ten characters are the first 48 bits of 128 behind two bits of padding: exactly the milliseconds.
  return new Date(value);
}
