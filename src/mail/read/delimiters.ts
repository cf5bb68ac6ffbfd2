import { type OpenMultipart, type Part, showAsText } from "./part.ts";
import { endOfBlankLine } from "./white-space.ts";

/** The multiparts of a mail that are open at a place, the outermost first: their delimiters divide what follows. */
export interface Nesting {
  readonly raw: Buffer;
  readonly open: OpenMultipart[];
  /** Lines so far that might have been one. */
  dashLines: number;
}

export interface Delimiter {
  /** How many multiparts stay open behind it. */
  depth: number;
  closes: boolean;
  start: number;
  next: number;
}

/** The next delimiter at or behind a line start. */
export function nextDelimiter(nesting: Nesting, from: number): Delimiter | undefined {
  const { raw, open } = nesting;
  if (open.length === 0) return undefined;
  let start = hasDashes(raw, from) ? from : raw.indexOf(lineWithDashes, from) + 1;
  while (start > 0) {
    const found = delimiterAt(nesting, start);
    if (found !== undefined) return found;
    start = raw.indexOf(lineWithDashes, start) + 1;
  }
  return undefined;
}

export function isDelimiter(nesting: Nesting, start: number): boolean {
  return hasDashes(nesting.raw, start) && nesting.open.length > 0 && delimiterAt(nesting, start) !== undefined;
}

/** The delimiter that stands at this line start, for the innermost multipart that knows it. */
function delimiterAt(nesting: Nesting, start: number): Delimiter | undefined {
  const { raw, open } = nesting;
  nesting.dashLines++;
  for (let index = open.length - 1; index >= 0; index--) {
    const multipart = open[index];
    if (multipart === undefined || !startsWith(raw, start, multipart.delimiter)) continue;
    const behind = start + multipart.delimiter.length;
    const closes = hasDashes(raw, behind);
    const next = endOfDelimiter(raw, closes ? behind + 2 : behind, multipart.delimiter);
    if (next < 0) continue;
    multipart.divided ||= !closes;
    return { depth: closes ? index : index + 1, closes, start, next };
  }
  return undefined;
}

/** Closes all multiparts but the outermost `depth`: their parts. What nothing has divided is shown as the text it is. */
export function closeTo(nesting: Nesting, depth: number): Part[] {
  return nesting.open.splice(depth).map(({ part, divided }) => {
    if (!divided) showAsText(part);
    return part;
  });
}

function hasDashes(raw: Buffer, at: number): boolean {
  return raw[at] === dash && raw[at + 1] === dash;
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
