import { mailboxesIn, type Named } from "./addresses.ts";
import { firstCharset } from "./charset.ts";
import { charsetOfWord, decodeWords, withWordsAsAtoms } from "./encoded-words.ts";
import type { Listed } from "./fast-head.ts";
import { isSign, type NotedSigns, noteSign } from "./signs.ts";
import { trimBlanks } from "./white-space.ts";

/** The limits on the bytes that are read of the whole header (`blockBytes`) and of each field (`fieldBytes`). */
export interface HeadLimits {
  blockBytes: number;
  fieldBytes: number;
}

export const headLimits: HeadLimits = { blockBytes: 256 * 1024, fieldBytes: 64 * 1024 };

/**
 * Reads the listed fields of any header. `charsets` are the labels of the mail's parts, in order. Bytes that are neither ASCII nor UTF-8
 * are decoded with the first charset that the mail names.
 */
export function readHead(
  block: Buffer,
  charsets: Iterable<string | undefined>,
  limits: HeadLimits = headLimits,
): { listed: Listed; whole: boolean } {
  const { fields, signs, whole } = listedFields(block, limits);
  const valuesOf = (name: string) => fields.filter((field) => field.name === name).map(({ value }) => value);
  const rawCharset = firstCharset([...fields.map(({ value }) => charsetOfWord(value)), ...charsets]);
  const textOf = (name: string) => decodeWords(valuesOf(name)[0] ?? "", rawCharset) || undefined;
  const mailboxesOf = (name: string) =>
    valuesOf(name).flatMap((value) => mailboxesIn(withWordsAsAtoms(value, rawCharset)));
  const listed = {
    from: senderAmong(mailboxesOf("from")) ?? senderAmong(mailboxesOf("sender")),
    to: mailboxesOf("to"),
    cc: mailboxesOf("cc"),
    replyTo: mailboxesOf("reply-to"),
    subject: textOf("subject"),
    messageId: textOf("message-id"),
    inReplyTo: textOf("in-reply-to"),
    references: textOf("references"),
    signs,
  };
  return { listed, whole };
}

/** The first mailbox whose address has a host, or else the first mailbox. */
function senderAmong(mailboxes: readonly Named[]): Named | undefined {
  return mailboxes.find(({ address }) => address.includes("@")) ?? mailboxes[0];
}

interface Field {
  /** The name in lower case. */
  name: string;
  /** The unfolded value, with one character for each byte. */
  value: string;
}

/** The listed fields. Each is cut or dropped on its own, so that the Subject is read even if To has a million addresses. */
function listedFields(block: Buffer, limits: HeadLimits): { fields: Field[]; signs: NotedSigns; whole: boolean } {
  const fields: Field[] = [];
  const signs: NotedSigns = {};
  const seen = new Set<string>();
  let whole = true;
  let left = limits.blockBytes;
  for (const field of fieldsOf(block)) {
    const name = nameOf(field);
    // Signs are read even after the limit on the header, since only a few bytes of each are kept.
    if (isSign(name) && signs[name] === undefined) {
      noteSign(signs, name, unfolded(field.subarray(0, limits.fieldBytes)));
    }
    // A field that exceeds the limit is dropped, unless it is the first one of a listed name.
    if (field.length > left && (!listedNames.has(name) || seen.has(name))) {
      whole = false;
      continue;
    }
    seen.add(name);
    const kept = field.length > limits.fieldBytes ? cut(field, name, limits.fieldBytes) : field;
    whole &&= kept.length === field.length;
    left -= kept.length;
    if (listedNames.has(name)) fields.push({ name, value: unfolded(kept) });
  }
  return { fields, signs, whole };
}

const listedNames = new Set("from sender to cc reply-to subject message-id in-reply-to references".split(" "));

/** Unfolds a field: only line breaks are removed (RFC 5322 §2.2.3). A single CR or LF without a fold becomes a space. */
function unfolded(field: Buffer): string {
  const text = field.toString("latin1", field.indexOf(colon) + 1);
  return trimBlanks(text.replace(/\r?\n(?=[ \t])/g, "").replace(/[\r\n]+/g, " "));
}

/** Divides a header into its fields, each with its last line break. Continuation lines start with a space or a tab (RFC 5322 §2.2.3). */
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
  const end = field.subarray(0, 128).indexOf(colon);
  return end < 0 ? "" : trimBlanks(field.toString("latin1", 0, end)).toLowerCase();
}

/** Cuts a long field. References and In-Reply-To keep their end, which has the parent; other fields keep their beginning. */
function cut(field: Buffer, name: string, limitBytes: number): Buffer {
  if (name === "references" || name === "in-reply-to") {
    const tail = field.subarray(field.length - limitBytes);
    const nextId = Math.max(tail.indexOf("<"), 0);
    return Buffer.concat([Buffer.from(`${name}: `), tail.subarray(nextId)]);
  }
  const kept = field.subarray(0, limitBytes);
  const comma = addressFields.has(name) ? kept.lastIndexOf(",") : -1;
  let end = comma > 0 ? comma : kept.length;
  // Drops the last character beyond ASCII, since the cut may have split it.
  if ((kept[end - 1] ?? 0) > 0x7f) {
    while (((kept[end - 1] ?? 0) & 0xc0) === 0x80) end--;
    end--;
  }
  return kept.subarray(0, end);
}

const addressFields = new Set(["from", "sender", "to", "cc", "reply-to"]);

const lf = 0x0a;
const colon = 0x3a;
const space = 0x20;
const tab = 0x09;
