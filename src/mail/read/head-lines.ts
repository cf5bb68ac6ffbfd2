import { headLimits } from "./head.ts";
import { endBeforeBreak, isBlank } from "./white-space.ts";

/** What a line of a head is: a field, more of one, or none. */

/** Behind a byte order mark, and behind the line that a mailbox file puts before each mail. */
export function startOfFields(raw: Buffer): number {
  const start = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0;
  if (!/^>?From /.test(raw.toString("latin1", start, start + 6))) return start;
  const next = raw.indexOf(lf, start) + 1;
  return next > 0 && isField(raw, next) ? next : start;
}

/**
 * A name of visible ASCII and a colon (RFC 5322 §2.2). An address of the web at the start of a line is none. A colon that lost its
 * name is a field that nobody reads, unless it is the last line: the fields behind it are still fields.
 */
export function isField(raw: Buffer, start: number): boolean {
  let at = start;
  while (isNameByte(raw[at])) at++;
  if (at === start) return raw[at] === colon && isBeforeLine(raw, at);
  while (isBlank(raw[at])) at++;
  return raw[at] === colon && !(raw[at + 1] === slash && raw[at + 2] === slash);
}

function isBeforeLine(raw: Buffer, at: number): boolean {
  const lineFeed = raw.indexOf(lf, at);
  return lineFeed >= 0 && lineFeed + 1 < raw.length;
}

function isNameByte(byte: number | undefined): boolean {
  return byte !== undefined && byte > space && byte < 0x7f && byte !== colon;
}

/** True for a line of a Content field that lost the space of its fold: parameters, or the rest of a quoted one. */
export function isParameters(raw: Buffer, fieldStart: number, lineStart: number, lineEnd: number): boolean {
  if (!/^content-/i.test(raw.toString("latin1", fieldStart, fieldStart + 8))) return false;
  if (raw[endBeforeBreak(raw, fieldStart, lineStart) - 1] === semicolon) return true;
  if (
    /^(?:charset|name|filename|boundary|format)[*0-9]{0,5}=/i.test(raw.toString("latin1", lineStart, lineStart + 20))
  ) {
    return true;
  }
  const before = raw.subarray(Math.max(fieldStart, raw.lastIndexOf(lf, lineStart - 2) + 1), lineStart);
  return hasOpenQuote(before) && hasOpenQuote(raw.subarray(lineStart, lineEnd));
}

function hasOpenQuote(line: Buffer): boolean {
  let isOpen = false;
  for (let at = line.indexOf(quote); at >= 0; at = line.indexOf(quote, at + 1)) isOpen = !isOpen;
  return isOpen;
}

/** The place of a From that is still to come in this block; the line itself where From has come, or never does. */
export function endOfFields(raw: Buffer, headStart: number, lineStart: number): number {
  if (lineStart === headStart || fromField.test(raw.toString("latin1", headStart, lineStart))) return lineStart;
  const ahead = raw.toString("latin1", lineStart, lineStart + headLimits.fieldBytes);
  const [block = ""] = ahead.split(/\n\r?\n/, 1);
  const from = fromField.exec(block)?.index ?? 0;
  return lineStart + from;
}

const fromField = /^from[ \t]{0,99}:/im;

const lf = 0x0a;
const space = 0x20;
const colon = 0x3a;
const slash = 0x2f;
const semicolon = 0x3b;
const quote = 0x22;
