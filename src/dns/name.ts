/** Encodes a name as in a DNS message (RFC 1035 §3.1); `undefined` if it is invalid. */
export function encodeName(name: string): Uint8Array | undefined {
  const labels = name.split(".");
  const isWellFormed = labels.every((label) => /^[!-[\]-~]{1,63}$/.test(label));
  if (!isWellFormed || name.length + 2 > maxBytes) return undefined;
  return Buffer.concat([...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)), root]);
}

const root = Uint8Array.of(0);

/**
 * Reads the name at `start` and the offset of its end; `undefined` if it is malformed. The result is in lower case,
 * because names compare without case (RFC 4343), and has no trailing dot. Special bytes, such as a dot within a label,
 * are written as `\` and a decimal number (RFC 1035 §5.1).
 * A pointer gives an earlier offset in the message, at which the name continues (RFC 1035 §4.1.4). Each pointer must
 * lead to an earlier offset than the one before, and a name has at most 127 of them, so that a hostile message cannot
 * cause a loop.
 */
export function readName(message: Uint8Array, start: number): { name: string; end: number } | undefined {
  const labels: string[] = [];
  let at = start;
  let end: number | undefined;
  let segmentStart = start;
  let bytes = 1;
  let pointers = 0;
  while (true) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return { name: labels.join("."), end: end ?? at + 1 };
    if (length >= pointerMark) {
      const low = message[at + 1];
      const target = ((length - pointerMark) << 8) | (low ?? 0);
      pointers += 1;
      if (low === undefined || target >= segmentStart || pointers > maxLabels) return undefined;
      end ??= at + 2;
      at = segmentStart = target;
      continue;
    }
    bytes += length + 1;
    if (length > 63 || bytes > maxBytes) return undefined;
    labels.push(labelText(message.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
}

/** The longest name, with its length bytes and the empty label at its end (RFC 1035 §2.3.4). */
const maxBytes = 255;
const maxLabels = 127;
const pointerMark = 0b1100_0000;

function labelText(label: Uint8Array): string {
  return Buffer.from(label)
    .toString("latin1")
    .replace(/[^!-~]|[.\\]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, "0")}`)
    .toLowerCase();
}
