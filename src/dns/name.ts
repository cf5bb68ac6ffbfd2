/** A name as a message of the DNS spells it (RFC 1035 §3.1); `undefined` for a text that no name can be. */
export function encodeName(name: string): Uint8Array | undefined {
  const labels = name.split(".");
  const isWellFormed = labels.every((label) => /^[!-[\]-~]{1,63}$/.test(label));
  if (!isWellFormed || name.length + 2 > mostBytes) return undefined;
  return Buffer.concat([...labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)), root]);
}

const root = Uint8Array.of(0);

/**
 * The name at `start` and where it ends; `undefined` for what is none. Names compare without regard to case (RFC 4343),
 * so all are in lower case here, without a dot at the end. A byte that could pass for something else than itself, a dot
 * within a label above all, is written as its number (RFC 1035 §5.1).
 * The rest of a name may stand further ahead in the message (RFC 1035 §4.1.4). Each pointer must lead before the last,
 * and there are no more of them than a name has labels: so no answer sends its reader round in circles.
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
      if (low === undefined || target >= segmentStart || pointers > mostLabels) return undefined;
      end ??= at + 2;
      at = segmentStart = target;
      continue;
    }
    bytes += length + 1;
    if (length > 63 || bytes > mostBytes) return undefined;
    labels.push(labelText(message.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
}

/** RFC 1035 §2.3.4, with the lengths of the labels and the empty one at the end. */
const mostBytes = 255;
const mostLabels = 127;
const pointerMark = 0b1100_0000;

function labelText(label: Uint8Array): string {
  return Buffer.from(label)
    .toString("latin1")
    .replace(/[^!-~]|[.\\]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, "0")}`)
    .toLowerCase();
}
