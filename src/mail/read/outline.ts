import { closeTo, type Delimiter, type Nesting, nextDelimiter } from "./delimiters.ts";
import { headLimits } from "./head.ts";
import { describePart, isFile, type Part } from "./part.ts";
import { type PartHead, readPartHead, startOfFields } from "./part-head.ts";
import { endBeforeBreak, isBlankText } from "./white-space.ts";

/** Reading stops at these limits (contract §6), which only hostile mail reaches. */
const maxDepth = 32;
const maxParts = 1000;
/** The limit on lines outside of attachments. 25 MiB of prose has fewer; 25 MiB of line feeds has sixty times as many. */
const maxLines = 400_000;

/** The parts of a mail with their offsets and types, found in linear time and without decoding. */
export interface Outline {
  parts: readonly Part[];
  /** The offset at which reading ended: after the last delimiter, or at a limit. */
  end: number;
  /** False if a limit was reached. */
  whole: boolean;
  /** The number of lines outside of attachments. */
  lines: number;
  /** The total size of the headers of all parts, in bytes. */
  headerBytes: number;
  /** The number of lines that start with `--`. Each is compared with every open boundary. */
  dashLines: number;
}

/** The state of the walk from part to part. */
interface Walk extends Nesting {
  readonly parts: Part[];
  lines: number;
  headerBytes: number;
  headsAreWhole: boolean;
}

type WalkEnd = Pick<Outline, "end" | "whole">;

export function outlineOf(raw: Buffer): Outline {
  const walk: Walk = { raw, open: [], parts: [], lines: 0, headerBytes: 0, dashLines: 0, headsAreWhole: true };
  const { end, whole } = walkParts(walk);
  closeTo(walk, 0);
  const { parts, lines, headerBytes, dashLines, headsAreWhole } = walk;
  return { parts, end, whole: whole && headsAreWhole, lines, headerBytes, dashLines };
}

function walkParts(walk: Walk): WalkEnd {
  for (let at = startOfFields(walk.raw), delimiterStart = 0; ; ) {
    const head = takeHead(walk, at);
    if (head.endless) {
      walk.parts.push(head.part);
      return { end: head.part.headEnd, whole: false };
    }
    if (isPastLimit(walk)) return { end: delimiterStart, whole: false };
    addPart(walk, head);
    const found = nextDelimiter(walk, head.part.bodyStart);
    const cutAt = endBody(walk, head.part, found);
    if (cutAt !== undefined) return { end: cutAt, whole: false };
    const next = found?.closes ? behindClosed(walk, found) : found;
    if (next === undefined) return { end: walk.raw.length, whole: true };
    if ("end" in next) return next;
    closeTo(walk, next.depth);
    delimiterStart = next.start;
    at = next.next;
  }
}

function takeHead(walk: Walk, at: number): PartHead {
  const head = readPartHead(walk, at, walk.parts.length === 0);
  walk.headerBytes += head.part.headEnd - head.part.headStart;
  walk.headsAreWhole &&= head.whole;
  return head;
}

/** True if reading must stop before the next part, because a limit on parts, nesting or headers is reached. */
function isPastLimit({ parts, open, headerBytes }: Walk): boolean {
  // The mail's own header has its own limit (head.ts). Those of the parts share this one.
  const partHeaderBytes = headerBytes - (parts[0]?.headEnd ?? 0);
  const isPast = parts.length >= maxParts || open.length > maxDepth || partHeaderBytes > headLimits.blockBytes;
  return isPast && open.length > 0;
}

function addPart({ parts, open }: Walk, { part, fields }: PartHead): void {
  const parent = open.at(-1);
  parts.push(part);
  const multipart = describePart(part, fields, parent);
  if (parent !== undefined) parent.children++;
  if (multipart !== undefined) open.push(multipart);
}

/** Ends the body at the delimiter, or earlier if it has too many lines; then it returns that offset. */
function endBody(walk: Walk, part: Part, delimiter: Delimiter | undefined): number | undefined {
  part.bodyEnd = endBefore(walk, part.bodyStart, delimiter);
  const cutAt = isFile(part) ? undefined : tooManyLines(walk, part.bodyStart, part.bodyEnd);
  if (cutAt !== undefined) part.bodyEnd = cutAt;
  return cutAt;
}

/**
 * Skips closing delimiters. Returns the first one that begins a part, or the end of reading before it; undefined at the end of the mail.
 */
function behindClosed(walk: Walk, closing: Delimiter): Delimiter | WalkEnd | undefined {
  const { raw, open } = walk;
  let delimiter: Delimiter | undefined = closing;
  while (delimiter?.closes) {
    const [closed] = closeTo(walk, delimiter.depth);
    const from = delimiter.next;
    // Text after the outermost multipart is ignored (RFC 2046 §5.1.1), unless the multipart has no text.
    const isAll = closed?.role === "text" && isBlankText(raw, closed.bodyStart, closed.bodyEnd);
    if (open.length === 0 && !isAll) return { end: from, whole: true };
    delimiter = nextDelimiter(walk, from);
    const cutAt = tooManyLines(walk, from, delimiter?.start ?? raw.length);
    if (isAll) {
      closed.bodyStart = from;
      closed.bodyEnd = cutAt ?? endBefore(walk, from, delimiter);
    }
    if (cutAt !== undefined) return { end: cutAt, whole: false };
  }
  return delimiter;
}

function endBefore({ raw }: Walk, bodyStart: number, delimiter: Delimiter | undefined): number {
  return delimiter === undefined ? raw.length : endBeforeBreak(raw, bodyStart, delimiter.start);
}

/** Counts the lines in a range. Returns the offset at which they become too many, if they do. */
function tooManyLines(walk: Walk, from: number, to: number): number | undefined {
  const { raw } = walk;
  let { lines } = walk;
  let at = raw.indexOf(lf, from);
  while (at >= 0 && at < to && ++lines <= maxLines) at = raw.indexOf(lf, at + 1);
  walk.lines = lines;
  return lines > maxLines ? at : undefined;
}

const lf = 0x0a;
