import { isDelimiter, type Nesting } from "./delimiters.ts";
import { headLimits } from "./head.ts";
import { type ContentFields, newPart, type Part, takeField } from "./part.ts";
import { endBeforeBreak, endOfBlankLine, isBlank, isBlankText, isEmptyLine } from "./white-space.ts";

/** The header of a part, with the fields that describe its content. */
export interface PartHead {
  /** The part before `describePart`: its type and role are not set yet, and its body reaches to the end of the mail. */
  part: Part;
  fields: ContentFields;
  /** False if a field was cut. */
  whole: boolean;
  /** True if reading stopped in this header, because of the limit on lines. */
  endless: boolean;
}

/** Reading stops at this limit (contract §6), which only hostile mail reaches. */
const maxHeadLines = 250_000;

/** Reads the header that starts here. `ofMail` is true for the header of the mail itself. */
export function readPartHead(nesting: Nesting, headStart: number, ofMail: boolean): PartHead {
  const { raw } = nesting;
  const fields: ContentFields = {};
  let whole = true;
  let headEnd = headStart;
  let fieldStart = headStart;
  let bodyStart = raw.length;
  let left = maxHeadLines;
  // A line that begins with white space continues the field before it. A doubtful line, which is blank or has no field
  // before it, does so only if another field follows.
  let doubtfulFrom = -1;
  let fieldsUntil = -1;

  function takeFieldBefore(end: number): void {
    if (!takeField(raw, fieldStart, end, fields)) whole = false;
  }

  for (; headEnd < raw.length && left > 0; left--) {
    const lineFeed = raw.indexOf(lf, headEnd);
    const next = lineFeed < 0 ? raw.length : lineFeed + 1;
    if (isEmptyLine(raw, headEnd, next)) {
      bodyStart = next;
      break;
    }
    if (isBlank(raw[headEnd])) {
      const isDoubtful = fieldStart === headEnd || isBlankText(raw, headEnd, next);
      if (isDoubtful && doubtfulFrom < 0) doubtfulFrom = headEnd;
    } else if (isDelimiter(nesting, headEnd)) {
      bodyStart = headEnd;
      break;
    } else if (isField(raw, headEnd)) {
      takeFieldBefore(headEnd);
      fieldStart = headEnd;
      doubtfulFrom = -1;
    } else if (!isParameters(raw, fieldStart, headEnd, next)) {
      // A line that cannot be a field begins the body. In the header of the mail itself, it is ignored if From follows.
      if (fieldsUntil < 0 && ofMail) fieldsUntil = endOfFields(raw, headStart, headEnd);
      if (headEnd >= fieldsUntil) {
        bodyStart = headEnd;
        break;
      }
      takeFieldBefore(headEnd);
      fieldStart = headEnd;
    }
    headEnd = next;
  }
  if (doubtfulFrom >= 0 && (bodyStart === headEnd || !isBlankText(raw, doubtfulFrom, headEnd))) {
    const blankEnd = endOfBlankLine(raw, doubtfulFrom);
    headEnd = doubtfulFrom;
    bodyStart = blankEnd < 0 ? doubtfulFrom : blankEnd;
  }
  takeFieldBefore(headEnd);
  return { part: newPart(headStart, headEnd, bodyStart, raw.length), fields, whole, endless: left === 0 };
}

/** The start of the header: after a byte order mark, and after the `From ` line of a mailbox file. */
export function startOfFields(raw: Buffer): number {
  const start = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0;
  if (!/^>?From /.test(raw.toString("latin1", start, start + 6))) return start;
  const next = raw.indexOf(lf, start) + 1;
  return next > 0 && isField(raw, next) ? next : start;
}

/**
 * True for a line with a name of visible ASCII and a colon (RFC 5322 §2.2), but not for a web address. A line with a colon and no name
 * counts as a field, unless it is the last line, so that the fields after it are read.
 */
function isField(raw: Buffer, start: number): boolean {
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

/** True for a continuation of a Content field that lost its leading space: parameters, or the rest of a quoted parameter. */
function isParameters(raw: Buffer, fieldStart: number, lineStart: number, lineEnd: number): boolean {
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

/**
 * The offset of a From field further down in this header. If From came before this line, or never comes, the offset of this line.
 */
function endOfFields(raw: Buffer, headStart: number, lineStart: number): number {
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
