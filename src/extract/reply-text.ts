import { truncateUtf8 } from "../standards/text.ts";
import { attributionsIn } from "./attribution.ts";
import { isDeviceLine } from "./device-lines.ts";
import { headerBlocksIn } from "./header-block.ts";
import { type TextLine, textLines, withoutMarkup } from "./reply-lines.ts";
import { beginsForward, beginsListFooter, beginsOriginal, dividersAbove, isReplyLimit } from "./reply-marks.ts";

export interface ReplyFacts {
  /** True if the mail answers another one. In other mail a quote is part of the message. */
  isReply: boolean;
}

/**
 * The new part of a text: without the quoted history, its attributions and the signature. It is never empty unless the text is.
 * Only the first 64 KiB are examined. The rest is kept, unless the window ends within a quote.
 */
export function newTextOf(text: string, { isReply }: ReplyFacts): string {
  const window = truncateUtf8(text, textWindowBytes);
  const lines = textLines(window);
  const found = isReply ? quotesOfReply(lines) : quoteAtEnd(lines, window.length === text.length);
  const goesOn = window.length < text.length;
  const parts = ownParts(lines, found);
  const last = parts.at(-1);
  const keepsRest = goesOn && last !== undefined && last.to === lines.length;
  if (!keepsRest && last !== undefined && found.forwardAt === undefined) {
    trimLastParts(lines, parts);
  }
  if (isReply) for (const part of parts.slice(0, -1)) part.to = withoutDeviceLine(lines, part);
  const kept = parts.filter((part) => part.from < part.to);
  if (isWhole(lines, kept) && (keepsRest || !goesOn)) return text;
  const own = kept.map(({ from, to }) => partOf(window, lines, from, to)).filter((part) => part !== "");
  if (own.length === 0) return text;
  const joined = own.join("\n\n");
  return keepsRest ? `${joined}${text.slice(window.length - trailing(window))}` : joined;
}

/** Extraction examines this much of a mail's text. */
export const textWindowBytes = 64 * 1024;

/** The lines to remove, and the index of the first line of a forwarded mail. Everything from that line on is kept. */
interface Found {
  quoted: readonly boolean[];
  forwardAt: number | undefined;
}

/** A range of the sender's own lines. `to` is the index after the last. */
interface Part {
  from: number;
  to: number;
}

/** Finds the lines to remove from a reply: all its quotes. A quote without `>` reaches to the end. */
function quotesOfReply(lines: readonly TextLine[]): Found {
  const quoted: boolean[] = lines.map(() => false);
  const beginsHeader = headerBlocksIn(lines);
  const attributions = attributionsIn(lines);
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    if (line === undefined || line.isBlank) continue;
    if (beginsMarkedForward(lines, at)) return { quoted, forwardAt: at };
    if (isQuotedLine(lines, at)) {
      quoted[at] = true;
      continue;
    }
    if (beginsForward(line.words)) return { quoted, forwardAt: at };
    const attribution = attributions.at(at);
    if (attribution?.hasMarkedQuote === true) {
      quoted.fill(true, at - dividersAbove(lines, at), attribution.to);
      at = attribution.to - 1;
      continue;
    }
    if (attribution !== undefined || beginsUnmarkedQuote(line.words) || beginsHeader(at)) {
      quoted.fill(true, at - dividersAbove(lines, at));
      break;
    }
  }
  return { quoted, forwardAt: undefined };
}

function beginsUnmarkedQuote(words: string): boolean {
  return beginsOriginal(words) || isReplyLimit(words);
}

/** Finds the lines to remove from a mail that is no reply: only the quoted lines at its end, if `isAll` says that `lines` has the end. */
function quoteAtEnd(lines: readonly TextLine[], isAll: boolean): Found {
  const quoted: boolean[] = lines.map(() => false);
  const forwardAt = lines.findIndex(({ words }, at) => beginsForward(words) || beginsMarkedForward(lines, at));
  if (forwardAt >= 0) return { quoted, forwardAt };
  for (let at = lines.length - 1; isAll && at >= 0; at -= 1) {
    if (lines[at]?.isBlank === true) continue;
    if (!isQuotedLine(lines, at)) break;
    quoted[at] = true;
  }
  return { quoted, forwardAt: undefined };
}

/** True for `> Begin forwarded message:` as the first line with `>`: the sender of this mail forwards the rest. */
function beginsMarkedForward(lines: readonly TextLine[], at: number): boolean {
  const line = lines[at];
  if (line?.isQuoted !== true || !beginsForward(line.words.slice(1).trim())) return false;
  let before = at - 1;
  while (lines[before]?.isBlank === true) before -= 1;
  return lines[before]?.isQuoted !== true;
}

/** True for a line of a quote. A single `>From` line is prose: mailbox files put a `>` before a line that begins with "From". */
function isQuotedLine(lines: readonly TextLine[], at: number): boolean {
  const line = lines[at];
  if (line?.isQuoted !== true) return false;
  if (!/^>from [^:]*$/.test(line.words)) return true;
  return lines[at - 1]?.isQuoted === true || lines[at + 1]?.isQuoted === true;
}

/** The ranges of lines that are kept and have words. */
function ownParts(lines: readonly TextLine[], { quoted, forwardAt }: Found): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (quoted[at] === true) continue;
    const from = at;
    while (at < lines.length && quoted[at] !== true && at !== forwardAt) at += 1;
    const to = at === forwardAt ? lines.length : at;
    at = to;
    if (lines.slice(from, to).some(({ isBlank }) => !isBlank)) parts.push({ from, to });
  }
  return parts;
}

/**
 * Removes footers, the signature and the device's line from the last part. If nothing remains of that part, the part before it becomes the
 * last one.
 */
function trimLastParts(lines: readonly TextLine[], parts: Part[]): void {
  for (let last = parts.at(-1); last !== undefined; last = parts.at(-1)) {
    last.to = withoutSignature(lines, last);
    last.to = withoutDeviceLine(lines, last);
    if (last.from < last.to || parts.length === 1) return;
    parts.pop();
  }
}

function withoutSignature(lines: readonly TextLine[], { from, to }: Part): number {
  for (let at = from; at < to; at += 1) {
    const words = lines[at]?.words;
    if (words === "--" || words === "—") return endOfWords(lines, from, at);
    if (words?.startsWith("____") === true && beginsListFooter(lines, at, endOfWords(lines, at, to))) {
      return endOfWords(lines, from, at);
    }
  }
  return to;
}

/** Removes at most two lines of a device: "Sent from my iPhone" above "Get Outlook for iOS". */
function withoutDeviceLine(lines: readonly TextLine[], { from, to }: Part): number {
  let end = to;
  for (let taken = 0; taken < 2; taken += 1) {
    const last = endOfWords(lines, from, end) - 1;
    if (last < from || !isDeviceLine(withoutMarkup(lines[last]?.words ?? ""))) break;
    end = last;
  }
  return end === to ? to : endOfWords(lines, from, end);
}

/** The index after the last line with words before `to`. */
function endOfWords(lines: readonly TextLine[], from: number, to: number): number {
  let end = to;
  while (end > from && lines[end - 1]?.isBlank === true) end -= 1;
  return end;
}

function isWhole(lines: readonly TextLine[], [only, ...others]: readonly Part[]): boolean {
  return only !== undefined && others.length === 0 && only.from === 0 && only.to === lines.length;
}

/** The original text of the lines, without blank lines around it. */
function partOf(text: string, lines: readonly TextLine[], from: number, to: number): string {
  let first = from;
  while (first < to && lines[first]?.isBlank === true) first += 1;
  const start = lines[first]?.start ?? 0;
  return text.slice(start, lines[endOfWords(lines, first, to) - 1]?.end ?? start).trimEnd();
}

/** The length of the white space at the end of the window. It is kept together with the text after the window. */
function trailing(window: string): number {
  return window.length - window.trimEnd().length;
}
