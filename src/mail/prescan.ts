import { headLimits } from "./head.ts";
import {
  type ContentFields,
  decideRole,
  isTakenOut,
  type OpenMultipart,
  type Part,
  showUndivided,
  takeField,
} from "./part.ts";

/** Past these a mail is not read on (service contract §6): they end bombs, no real mail comes near. */
const maxDepth = 32;
const maxParts = 1000;
/** Of what the parser reads line by line. 25 MiB of written text has fewer; of line feeds, sixty times as many. */
const maxLines = 400_000;
const maxHeadLines = 250_000;

/** Where the parts of a mail are. Found without decoding anything, in time that grows with its length alone. */
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
  /** True where only the parser knows how some part is divided. */
  odd: boolean;
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

  /** The delimiter that stands at this line start, for the innermost multipart that knows it. */
  function delimiterAt(start: number): Delimiter | undefined {
    dashLines++;
    for (let index = open.length - 1; index >= 0; index--) {
      const multipart = open[index];
      if (multipart === undefined || !startsWith(raw, start, multipart.delimiter)) continue;
      const behind = start + multipart.delimiter.length;
      const closes = raw[behind] === dash && raw[behind + 1] === dash;
      const next = endOfBlankLine(raw, closes ? behind + 2 : behind);
      if (next < 0) continue;
      multipart.divided = true;
      return { depth: closes ? index : index + 1, closes, start, next };
    }
    return undefined;
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

  /** The header block that starts here, as a part that has no role yet, and its Content fields. */
  function readHead(headStart: number): { part: Part; fields: ContentFields; endless: boolean } {
    const fields: ContentFields = {};
    let headEnd = headStart;
    let fieldStart = headStart;
    let bodyStart = raw.length;
    let left = maxHeadLines;
    for (; headEnd < raw.length && left > 0; left--) {
      const lineFeed = raw.indexOf(lf, headEnd);
      const next = lineFeed < 0 ? raw.length : lineFeed + 1;
      if (isEmptyLine(raw, headEnd, next)) {
        bodyStart = next;
        break;
      }
      if (raw[headEnd] === dash && raw[headEnd + 1] === dash && open.length > 0 && delimiterAt(headEnd) !== undefined) {
        bodyStart = headEnd;
        break;
      }
      if (raw[headEnd] !== space && raw[headEnd] !== tab) {
        takeField(raw, fieldStart, headEnd, fields);
        fieldStart = headEnd;
      }
      headEnd = next;
    }
    takeField(raw, fieldStart, headEnd, fields);
    headerBytes += headEnd - headStart;
    const part: Part = { headStart, headEnd, bodyStart, bodyEnd: raw.length, role: "odd", encoding: "none" };
    return { part, fields, endless: left === 0 };
  }

  /** Counts the lines from here to there; where they become too many, the place. */
  function tooManyLines(from: number, to: number): number | undefined {
    for (let at = raw.indexOf(lf, from); at >= 0 && at < to; at = raw.indexOf(lf, at + 1)) {
      if (++lines > maxLines) return at;
    }
    return undefined;
  }

  function outline(end: number, whole: boolean): Outline {
    for (const multipart of open) showUndivided(multipart);
    return { parts, end, whole, lines, headerBytes, dashLines, odd: parts.some((part) => part.role === "odd") };
  }

  for (let at = 0, delimiterStart = 0; ; ) {
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
    const multipart = decideRole(part, fields, parent);
    if (parent !== undefined) parent.children++;
    if (multipart !== undefined) open.push(multipart);

    let delimiter = nextDelimiter(part.bodyStart);
    part.bodyEnd = delimiter === undefined ? raw.length : endBeforeBreak(raw, part.bodyStart, delimiter.start);
    const cutAt = isTakenOut(part) ? undefined : tooManyLines(part.bodyStart, part.bodyEnd);
    if (cutAt !== undefined) {
      part.bodyEnd = cutAt;
      return outline(cutAt, false);
    }
    while (delimiter?.closes) {
      for (const closed of open.splice(delimiter.depth)) showUndivided(closed);
      const from = delimiter.next;
      // What follows the last multipart is to be ignored (RFC 2046 §5.1.1).
      if (open.length === 0) return outline(from, true);
      delimiter = nextDelimiter(from);
      const cutBetween = tooManyLines(from, delimiter?.start ?? raw.length);
      if (cutBetween !== undefined) return outline(cutBetween, false);
    }
    if (delimiter === undefined) return outline(raw.length, true);
    for (const closed of open.splice(delimiter.depth)) showUndivided(closed);
    delimiterStart = delimiter.start;
    at = delimiter.next;
  }
}

function startsWith(raw: Buffer, at: number, wanted: Buffer): boolean {
  if (at + wanted.length > raw.length) return false;
  for (let index = 0; index < wanted.length; index++) if (raw[at + index] !== wanted[index]) return false;
  return true;
}

function isEmptyLine(raw: Buffer, start: number, next: number): boolean {
  for (let at = start; at < next; at++) if (raw[at] !== cr && raw[at] !== lf) return false;
  return true;
}

/** Behind the line break when only white space stands before it, else -1. */
function endOfBlankLine(raw: Buffer, from: number): number {
  let at = from;
  while (raw[at] === space || raw[at] === tab) at++;
  while (raw[at] === cr) at++;
  if (at >= raw.length) return raw.length;
  return raw[at] === lf ? at + 1 : -1;
}

function endBeforeBreak(raw: Buffer, bodyStart: number, delimiterStart: number): number {
  let end = delimiterStart;
  if (end > bodyStart && raw[end - 1] === lf) end--;
  if (end > bodyStart && raw[end - 1] === cr) end--;
  return Math.max(end, bodyStart);
}

const lineWithDashes = Buffer.from("\n--");
const dash = 0x2d;
const lf = 0x0a;
const cr = 0x0d;
const space = 0x20;
const tab = 0x09;
