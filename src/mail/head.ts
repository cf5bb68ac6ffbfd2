import { isAscii, isUtf8 } from "node:buffer";

/** How much of a header block is read. */
export interface HeadLimits {
  blockBytes: number;
  fieldBytes: number;
}

export const headLimits: HeadLimits = { blockBytes: 256 * 1024, fieldBytes: 64 * 1024 };

/**
 * A header block as the parser shall see it: within the limits and in UTF-8. Fields are cut and left out one by one, so
 * that a million addresses in To don't cost the Subject. Most blocks come back as they are.
 */
export function readableHead(block: Buffer, limits: HeadLimits = headLimits): { bytes: Buffer; whole: boolean } {
  if (block.length <= limits.fieldBytes && (isAscii(block) || isUtf8(block))) return { bytes: block, whole: true };
  const pieces: Buffer[] = [];
  const seen = new Set<string>();
  let whole = true;
  let left = limits.blockBytes;
  for (const field of fieldsOf(block)) {
    const name = nameOf(field);
    // Past the limit each field that the mail is listed by still has its one place.
    if (field.length > left && (!listed.has(name) || seen.has(name))) {
      whole = false;
      continue;
    }
    seen.add(name);
    const kept = field.length > limits.fieldBytes ? cut(field, name, limits.fieldBytes) : field;
    whole &&= kept.length === field.length;
    left -= kept.length;
    pieces.push(inUtf8(kept));
  }
  return { bytes: Buffer.concat(pieces), whole };
}

/**
 * The text of header bytes. RFC 6532 makes them UTF-8; software that knows nothing of either RFC 2047 or 6532 writes
 * what its own code page has, which in mail is windows-1252 far more often than anything else.
 */
export function headerText(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString("utf8") : windows1252.decode(bytes);
}

const windows1252 = new TextDecoder("windows-1252");

function inUtf8(field: Buffer): Buffer {
  if (isUtf8(field)) return field;
  // Inside an encoded word the word's own charset counts, so there the bytes become the codes they should have been.
  const coded = field
    .toString("latin1")
    .replace(encodedWord, (word) => word.replace(/[\x80-\xff]/g, (byte) => `=${byte.charCodeAt(0).toString(16)}`));
  return Buffer.from(windows1252.decode(Buffer.from(coded, "latin1")));
}

/** RFC 2047 §2, of encoding Q. */
const encodedWord = /=\?[^?\s]+\?q\?[^?]*\?=/gi;

const listed = new Set([
  ..."from to cc reply-to subject date message-id in-reply-to references".split(" "),
  ..."content-type content-transfer-encoding content-disposition content-id".split(" "),
]);

/** A field from its name to behind its last line break; continuation lines start with a space or a tab (RFC 5322 §2.2.3). */
function* fieldsOf(block: Buffer): Generator<Buffer> {
  let start = 0;
  for (let at = 0; at < block.length; ) {
    const lineFeed = block.indexOf(lf, at);
    at = lineFeed < 0 ? block.length : lineFeed + 1;
    if (block[at] === space || block[at] === tab) continue;
    yield block.subarray(start, at);
    start = at;
  }
}

function nameOf(field: Buffer): string {
  const colon = field.subarray(0, 128).indexOf(0x3a);
  return colon < 0 ? "" : field.toString("latin1", 0, colon).trim().toLowerCase();
}

/** The part of a field that is worth most: of References the end, where the parent stands; of all others the beginning. */
function cut(field: Buffer, name: string, limitBytes: number): Buffer {
  if (name === "references" || name === "in-reply-to") {
    const tail = field.subarray(field.length - limitBytes);
    const nextId = Math.max(tail.indexOf("<"), 0);
    return Buffer.concat([Buffer.from(`${name}: `), tail.subarray(nextId)]);
  }
  const kept = field.subarray(0, limitBytes);
  const comma = addressFields.has(name) ? kept.lastIndexOf(",") : -1;
  let end = comma > 0 ? comma : kept.length;
  // Not through the middle of a character: its first byte goes with its last.
  if ((kept[end - 1] ?? 0) > 0x7f) {
    while (((kept[end - 1] ?? 0) & 0xc0) === 0x80) end--;
    end--;
  }
  return Buffer.concat([kept.subarray(0, end), Buffer.from("\r\n")]);
}

const addressFields = new Set(["from", "to", "cc", "bcc", "reply-to", "sender"]);

const lf = 0x0a;
const space = 0x20;
const tab = 0x09;
