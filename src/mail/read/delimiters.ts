import { type OpenMultipart, type Part, showAsText } from "./part.ts";
import { endOfBlankLine } from "./white-space.ts";

/** The open multiparts of a mail, the outermost first. Their delimiters divide the following lines. */
export interface Nesting {
  readonly raw: Buffer;
  readonly open: OpenMultipart[];
  /** The number of lines so far that could have been a delimiter. */
  dashLines: number;
}

export interface Delimiter {
  /** The number of multiparts that stay open after this delimiter. */
  depth: number;
  closes: boolean;
  start: number;
  next: number;
}

/** The first delimiter on the line that starts at `from`, or on a later line. */
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

/** The delimiter on the line that starts at `start`, if there is one. It belongs to the innermost open multipart with this boundary. */
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

/**
 * Closes all multiparts except the outermost `depth`, and returns the closed ones. A multipart without any delimiter becomes a text.
 */
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
 * The offset after the line of a delimiter, or -1 if the line is no delimiter. Some software writes words after a delimiter, after a
 * space or another sign that no boundary has. If the boundary has only dashes, a line with words is text, as in `--- Original message ---`.
 */
function endOfDelimiter(raw: Buffer, from: number, delimiter: Buffer): number {
  const next = endOfBlankLine(raw, from);
  const hasWords = next < 0 && !isBoundaryByte(raw[from] ?? 0);
  if (!hasWords || delimiter.every((byte) => byte === dash)) return next;
  const lineFeed = raw.indexOf(lf, from);
  return lineFeed < 0 ? raw.length : lineFeed + 1;
}

/** True for a byte that a boundary may contain (RFC 2046 §5.1.1), and for bytes of UTF-8, which some software uses in boundaries. */
function isBoundaryByte(byte: number): boolean {
  return byte > 0x7f || /[A-Za-z0-9'()+_,./:=?-]/.test(String.fromCharCode(byte));
}

const lineWithDashes = Buffer.from("\n--");
const dash = 0x2d;
const lf = 0x0a;
