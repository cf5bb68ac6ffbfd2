import { domainOfAddress } from "../../domain/receive/verdict.ts";
import { mailboxesIn } from "../read/addresses.ts";
import { withWordsAsAtoms } from "../read/encoded-words.ts";
import { trimBlanks } from "../read/white-space.ts";
import type { HeaderField } from "../write/dkim-canonical.ts";

/** The end of the header of a mail, and whether the header has line ends without CR. */
export interface HeadEnd {
  /** The end of its last field, with the line end of that field. */
  headEnd: number;
  bodyStart: number;
  hasBareLineFeed: boolean;
}

/** Finds the first empty line. Undefined if the header has more than `mostBytes`. */
export function endOfHead(raw: Buffer, mostBytes = Number.POSITIVE_INFINITY): HeadEnd | undefined {
  let hasBareLineFeed = false;
  for (let lineStart = 0; lineStart <= mostBytes; ) {
    const at = raw.indexOf(lineFeed, lineStart);
    if (at < 0) {
      return raw.length > mostBytes ? undefined : { headEnd: raw.length, bodyStart: raw.length, hasBareLineFeed };
    }
    const isBare = at === 0 || raw[at - 1] !== carriageReturn;
    hasBareLineFeed ||= isBare;
    const textEnd = isBare ? at : at - 1;
    if (textEnd === lineStart) return { headEnd: lineStart, bodyStart: at + 1, hasBareLineFeed };
    lineStart = at + 1;
  }
  return undefined;
}

/** The bytes with CRLF at each line end, as DKIM signs them (RFC 6376 §3.4). The same bytes if they have no line feed without CR. */
export function withFullLineEnds(raw: Buffer): Buffer {
  let bare = 0;
  for (let at = raw.indexOf(lineFeed); at >= 0; at = raw.indexOf(lineFeed, at + 1)) {
    if (at === 0 || raw[at - 1] !== carriageReturn) bare += 1;
  }
  if (bare === 0) return raw;
  const full = Buffer.allocUnsafe(raw.length + bare);
  let length = 0;
  let copied = 0;
  for (let at = raw.indexOf(lineFeed); at >= 0; at = raw.indexOf(lineFeed, at + 1)) {
    if (at > 0 && raw[at - 1] === carriageReturn) continue;
    length += raw.copy(full, length, copied, at);
    full[length++] = carriageReturn;
    copied = at;
  }
  raw.copy(full, length, copied);
  return full;
}

const lineFeed = 10;
const carriageReturn = 13;

/**
 * The domain in From; undefined unless there is one such field, with one address and a valid domain. Its address is read as it is for
 * `Message.from`, so that the verdict is about the domain that the API shows.
 */
export function fromDomainOf(fields: readonly HeaderField[]): string | undefined {
  const [field, ...others] = fields.filter(({ name }) => name === "from");
  if (field === undefined || others.length > 0 || field.text.length > mostFromCharacters) return undefined;
  const [mailbox, ...more] = mailboxesIn(withWordsAsAtoms(fieldValue(field)));
  return mailbox === undefined || more.length > 0 ? undefined : domainOfAddress(mailbox.address);
}

const mostFromCharacters = 16 * 1024;

/** The value of a field on one line. It has one character for each octet. */
export function fieldValue({ text }: HeaderField): string {
  const value = text.slice(text.indexOf(":") + 1);
  return trimBlanks(value.replace(/\r?\n(?=[ \t])/g, "").replace(/[\r\n]+/g, " "));
}
