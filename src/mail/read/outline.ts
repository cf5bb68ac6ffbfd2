import { headLimits } from "./head.ts";
import { endOfFields, isField, isParameters, startOfFields } from "./head-lines.ts";
import {
  type ContentFields,
  describePart,
  isFile,
  newPart,
  type OpenMultipart,
  type Part,
  showAsText,
  takeField,
} from "./part.ts";
import { endBeforeBreak, endOfBlankLine, isBlank, isBlankText, isEmptyLine } from "./white-space.ts";

/** Past these a mail is not read on (contract §6): they end bombs, no real mail comes near. */
const maxDepth = 32;
const maxParts = 1000;
/** Outside of attachments. 25 MiB of written text has fewer; of line feeds, sixty times as many. */
const maxLines = 400_000;
const maxHeadLines = 250_000;

/** Where the parts of a mail are, and what they are. Found without decoding anything, in time that grows with its length alone. */
export interface Outline {
  parts: readonly Part[];
  /** Where reading ends: behind the last delimiter, or where the mail passed a limit. */
  end: number;
  /** False where a limit was passed. */
  whole: boolean;
  /** Lines outside of attachments. */
  lines: number;
  /** All that stands in headers, of all parts. */
  headerBytes: number;
  /** Lines that start with `--`: each is compared with every open boundary. */
  dashLines: number;
}

interface Delimiter {
  /** How many multiparts stay open behind it. */
  depth: number;
  closes: boolean;
  start: number;
  next: number;
}

export function outlineOf(raw: Buffer): Outline {
  const parts: Part[] = [];
  const open: OpenMultipart[] = [];
  let headerBytes = 0;
  let dashLines = 0;
  let lines = 0;
  let headsAreWhole = true;

  /** The delimiter that stands at this line start, for the innermost multipart that knows it. */
  function delimiterAt(start: number): Delimiter | undefined {
    dashLines++;
    for (let index = open.length - 1; index >= 0; index--) {
      const multipart = open[index];
      if (multipart === undefined || !startsWith(raw, start, multipart.delimiter)) continue;
      const behind = start + multipart.delimiter.length;
      const closes = raw[behind] === dash && raw[behind + 1] === dash;
      const next = endOfDelimiter(raw, closes ? behind + 2 : behind, multipart.delimiter);
      if (next < 0) continue;
      multipart.divided ||= !closes;
      return { depth: closes ? index : index + 1, closes, start, next };
    }
    return undefined;
  }

  function isDelimiter(start: number): boolean {
    return raw[start] === dash && raw[start + 1] === dash && open.length > 0 && delimiterAt(start) !== undefined;
  }

  function nextDelimiter(from: number): Delimiter | undefined {
    if (open.length === 0) return undefined;
    let start = raw[from] === dash && raw[from + 1] === dash ? from : raw.indexOf(lineWithDashes, from) + 1;
    while (start > 0) {
      const found = delimiterAt(start);
      if (found !== undefined) return found;
      start = raw.indexOf(lineWithDashes, start) + 1;
    }
    return undefined;
  }

  /** The header block that starts here, as a part that is not described yet, and its Content fields. */
  function readHead(headStart: number): { part: Part; fields: ContentFields; endless: boolean } {
    const fields: ContentFields = {};
    let headEnd = headStart;
    let fieldStart = headStart;
    let bodyStart = raw.length;
    let left = maxHeadLines;
    // A line that begins with white space goes on with the field before it, unless it is blank or there is none:
    // then it does only if another field follows.
    let doubtfulFrom = -1;
    let fieldsUntil = -1;

    function takeFieldBefore(end: number): void {
      if (!takeField(raw, fieldStart, end, fields)) headsAreWhole = false;
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
      } else if (isDelimiter(headEnd)) {
        bodyStart = headEnd;
        break;
      } else if (isField(raw, headEnd)) {
        takeFieldBefore(headEnd);
        fieldStart = headEnd;
        doubtfulFrom = -1;
      } else if (!isParameters(raw, fieldStart, headEnd, next)) {
        // What can be no field begins the body. Of the mail itself it can't begin before the sender was named.
        if (fieldsUntil < 0 && parts.length === 0) fieldsUntil = endOfFields(raw, headStart, headEnd);
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
    headerBytes += headEnd - headStart;
    return { part: newPart(headStart, headEnd, bodyStart, raw.length), fields, endless: left === 0 };
  }

  /** Counts the lines from here to there; where they become too many, the place. */
  function tooManyLines(from: number, to: number): number | undefined {
    for (let at = raw.indexOf(lf, from); at >= 0 && at < to; at = raw.indexOf(lf, at + 1)) {
      if (++lines > maxLines) return at;
    }
    return undefined;
  }

  function outline(end: number, whole: boolean): Outline {
    for (const multipart of open) showIfUndivided(multipart);
    return { parts, end, whole: whole && headsAreWhole, lines, headerBytes, dashLines };
  }

  for (let at = startOfFields(raw), delimiterStart = 0; ; ) {
    const { part, fields, endless } = readHead(at);
    const parent = open.at(-1);
    if (endless) {
      parts.push(part);
      return outline(part.headEnd, false);
    }
    // The head of the mail itself is cut down to its limit (head.ts); those of the parts share another.
    const partHeaderBytes = headerBytes - (parts[0]?.headEnd ?? 0);
    const tooMuch = parts.length >= maxParts || open.length > maxDepth || partHeaderBytes > headLimits.blockBytes;
    if (parent !== undefined && tooMuch) return outline(delimiterStart, false);
    parts.push(part);
    const multipart = describePart(part, fields, parent);
    if (parent !== undefined) parent.children++;
    if (multipart !== undefined) open.push(multipart);

    let delimiter = nextDelimiter(part.bodyStart);
    part.bodyEnd = delimiter === undefined ? raw.length : endBeforeBreak(raw, part.bodyStart, delimiter.start);
    const cutAt = isFile(part) ? undefined : tooManyLines(part.bodyStart, part.bodyEnd);
    if (cutAt !== undefined) {
      part.bodyEnd = cutAt;
      return outline(cutAt, false);
    }
    while (delimiter?.closes) {
      const [closed] = open.splice(delimiter.depth).map(showIfUndivided);
      const from = delimiter.next;
      // What follows the last multipart is to be ignored (RFC 2046 §5.1.1), unless it is all that there is.
      const isAll = closed?.role === "text" && isBlankText(raw, closed.bodyStart, closed.bodyEnd);
      if (open.length === 0 && !isAll) return outline(from, true);
      delimiter = nextDelimiter(from);
      const cutBetween = tooManyLines(from, delimiter?.start ?? raw.length);
      if (isAll) {
        closed.bodyStart = from;
        closed.bodyEnd =
          cutBetween ?? (delimiter === undefined ? raw.length : endBeforeBreak(raw, from, delimiter.start));
      }
      if (cutBetween !== undefined) return outline(cutBetween, false);
    }
    if (delimiter === undefined) return outline(raw.length, true);
    for (const ended of open.splice(delimiter.depth)) showIfUndivided(ended);
    delimiterStart = delimiter.start;
    at = delimiter.next;
  }
}

function showIfUndivided({ part, divided }: OpenMultipart): Part {
  if (!divided) showAsText(part);
  return part;
}

function startsWith(raw: Buffer, at: number, wanted: Buffer): boolean {
  if (at + wanted.length > raw.length) return false;
  for (let index = 0; index < wanted.length; index++) if (raw[at + index] !== wanted[index]) return false;
  return true;
}

/**
 * Behind the line of a delimiter, else -1. Some software writes words behind one, after a space or something else that no
 * boundary goes on with; behind nothing but dashes words are the writer's own, as in `--- Original message ---`.
 */
function endOfDelimiter(raw: Buffer, from: number, delimiter: Buffer): number {
  const next = endOfBlankLine(raw, from);
  const hasWords = next < 0 && !isBoundaryByte(raw[from] ?? 0);
  if (!hasWords || delimiter.every((byte) => byte === dash)) return next;
  const lineFeed = raw.indexOf(lf, from);
  return lineFeed < 0 ? raw.length : lineFeed + 1;
}

/** RFC 2046 §5.1.1, and UTF-8, which some put there. */
function isBoundaryByte(byte: number): boolean {
  return byte > 0x7f || /[A-Za-z0-9'()+_,./:=?-]/.test(String.fromCharCode(byte));
}

const lineWithDashes = Buffer.from("\n--");
const dash = 0x2d;
const lf = 0x0a;
