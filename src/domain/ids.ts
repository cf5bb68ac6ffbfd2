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
 */
export function idMaker(randomBytes: (length: number) => Uint8Array): NewId {
  let lastMs = -1;
  let high = 0; // 12 bits beside the version
  let low = 0n; // 62 bits beside the variant

  function draw(): void {
    const bytes = randomBytes(10);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 10);
    high = view.getUint16(0) & 0x7ff;
    low = view.getBigUint64(2) & 0x3fff_ffff_ffff_ffffn;
  }

  return (kind, at) => {
    const ms = at.getTime();
    if (ms > lastMs) {
      lastMs = ms;
      draw();
    } else {
      low += 1n + BigInt(randomBytes(1)[0] ?? 0);
      if (low > 0x3fff_ffff_ffff_ffffn) {
        low &= 0x3fff_ffff_ffff_ffffn;
        high += 1;
        if (high > 0xfff) {
          lastMs += 1;
          draw();
        }
      }
    }
    const upper = (BigInt(lastMs) << 16n) | 0x7000n | BigInt(high);
    const lower = (0b10n << 62n) | low;
    return `${kind}_${base32((upper << 64n) | lower)}`;
  };
}

function base32(value: bigint): string {
  let text = "";
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += alphabet[Number((value >> shift) & 31n)];
  return text;
}

/** The instant that an id was made at. */
export function instantOfId(id: string): Date {
  let value = 0;
  for (const character of id.slice(4, 14)) value = value * 32 + alphabet.indexOf(character);
  // Ten characters are the first 48 bits of 128 behind two bits of padding: exactly the milliseconds.
  return new Date(value);
}
