/** 128 bits of a SHA-256 in the form of a uuid: as short as a key can be that nobody can make collide by chance. */
export function shortDigest(data: string | Uint8Array): string {
  const hex = new Bun.CryptoHasher("sha256").update(data).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

export function sha256Hex(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

/** Headers that a server puts on top of a mail on its way (RFC 5321 §4.4): two copies over two ways differ in them. */
const trace = /^(?:received|return-path|delivered-to|x-original-to|x-received):/i;

/** What a mail is, without how it came. */
export function contentOf(raw: Uint8Array): Uint8Array {
  return raw.subarray(endOfTrace(raw));
}

function endOfTrace(raw: Uint8Array): number {
  let start = 0;
  for (;;) {
    const name = String.fromCharCode(...raw.subarray(start, start + 16));
    if (!trace.test(name)) return start;
    let end = start;
    // A header goes on over the lines that begin with white space (RFC 5322 §2.2.3).
    do {
      const newline = raw.indexOf(0x0a, end);
      if (newline === -1) return start;
      end = newline + 1;
    } while (raw[end] === 0x20 || raw[end] === 0x09);
    start = end;
  }
}
