import type { HtmlElement } from "../mail/html/html-element.ts";
import { type HtmlWalk, linesOf } from "../mail/html/html-walk.ts";
import { endOfBody } from "../mail/html/quote-html.ts";
import { firstFrom } from "../primitives/first-from.ts";
import { type Attribution, attributionsIn } from "./attribution.ts";
import { headerBlocksIn } from "./header-block.ts";
import { type HtmlLine, htmlLines } from "./html-lines.ts";
import { type QuoteMark, quoteMarkOf } from "./quote-elements.ts";
import { beginsForward, beginsOriginal, dividersAbove } from "./reply-marks.ts";
import type { ReplyFacts } from "./reply-text.ts";

/**
 * The HTML without its quotes and signatures, and a function that makes its text line by line. Cuts are ranges of the original; the rest is
 * unchanged. Everything from the beginning of a forwarded mail is kept. Undefined if there is nothing to cut, or if the cuts contain all
 * words of the mail.
 */
export function cutHtml(
  html: string,
  walk: HtmlWalk,
  { isReply }: ReplyFacts,
): { html: string; text: () => string } | undefined {
  const lines = htmlLines(walk);
  const tail = html.slice(-endOfPage);
  const bodyEnd = html.length - tail.length + endOfBody(tail);
  const cuts = withoutForward(lines, cutsOf(walk, lines, { isReply, bodyEnd }));
  if (cuts.length === 0) return undefined;
  const isCut = withinRanges(cuts);
  if (lines.every(({ start }) => isCut(start))) return undefined;
  let kept = "";
  let at = 0;
  for (const { start, end } of cuts) {
    if (start > at) kept += html.slice(at, start);
    at = Math.max(at, end);
  }
  const text = () => {
    const isWithin = withinRanges(cuts);
    return linesOf(
      walk,
      walk.pieces.filter(({ start, parent }) => !isWithin(start) && parent?.look.hidden !== true),
    );
  };
  return { html: kept + html.slice(at), text };
}

/** A range of the HTML to remove. */
interface Cut {
  start: number;
  end: number;
}

/** The ranges of quotes and signatures to remove, sorted by `start`. */
function cutsOf(walk: HtmlWalk, lines: readonly HtmlLine[], { isReply, bodyEnd }: Mail): Cut[] {
  const cuts: Cut[] = [];
  const restAt = isReply ? restByWords(lines) : undefined;
  const above = attributionsAbove(lines);
  let cutTo = 0;
  for (const [index, element] of walk.elements.entries()) {
    if (element.start < cutTo) continue;
    if (restAt !== undefined && restAt.start >= cutTo && element.start >= restAt.start) break;
    const mark = quoteMarkOf(element) ?? (isReply && element.name === "blockquote" ? "indented" : undefined);
    if (mark === undefined) continue;
    const found = cutsOfMark(walk, lines, { index, element, mark, isReply, bodyEnd, above: above(element) });
    cuts.push(...found);
    cutTo = found.reduce((last, { end }) => Math.max(last, end), cutTo);
  }
  if (restAt !== undefined && restAt.start >= cutTo) cuts.push(...toEnd(walk, restAt, bodyEnd));
  return cuts.toSorted((one, other) => one.start - other.start);
}

/** The number of characters at the end of a page that are searched for its end tags. */
const endOfPage = 4096;

interface Mail extends ReplyFacts {
  bodyEnd: number;
}

interface Marked extends Mail {
  index: number;
  element: HtmlElement;
  /** `indented` is a plain blockquote, which is a quote only below an attribution. */
  mark: QuoteMark | "indented";
  above: readonly Cut[];
}

function cutsOfMark(walk: HtmlWalk, lines: readonly HtmlLine[], marked: Marked): Cut[] {
  const { index, element, mark, isReply, bodyEnd, above } = marked;
  if (mark === "signature") return [element];
  if (mark === "indented") return above.length > 0 ? [...above, element] : [];
  if (mark === "rest") return isReply ? toEnd(walk, element, bodyEnd) : [];
  if (mark === "attribution") {
    const next = walk.elements
      .slice(index + 1, index + 9)
      .find(({ name, start }) => name === "blockquote" && start >= element.end);
    const isNext = next !== undefined && !hasWords(lines, element.end, next.start);
    return isNext ? [element, next] : [];
  }
  const isAnswered = hasWords(lines, element.end, walk.html.length);
  if (!isReply && element.name === "blockquote" && isAnswered) return [];
  if (element.name !== "blockquote") return cutsOfContainer(walk, lines, index, element);
  return [...above, element];
}

/** Cuts the quotes out of a container. In Gmail it holds the attribution, the quotes, and the answers between them. */
function cutsOfContainer(walk: HtmlWalk, lines: readonly HtmlLine[], index: number, container: HtmlElement): Cut[] {
  const quotes: HtmlElement[] = [];
  for (let at = index + 1; at < walk.elements.length; at += 1) {
    const element = walk.elements[at];
    if (element === undefined || element.start >= container.contentEnd) break;
    if (element.name === "blockquote" && element.start >= (quotes.at(-1)?.end ?? 0)) quotes.push(element);
  }
  const isAnswered = quotes.some(({ end }, at) => hasWords(lines, end, quotes[at + 1]?.start ?? container.contentEnd));
  const [first] = quotes;
  if (first === undefined || !isAnswered) return [container];
  return [{ start: container.contentStart, end: first.end }, ...quotes.slice(1)];
}

/**
 * Returns a function that finds the attribution in the lines right above a blockquote. If no line is between two blockquotes, only the
 * first one gets it.
 */
function attributionsAbove(lines: readonly HtmlLine[]): (quote: HtmlElement) => Cut[] {
  const attributions = attributionsIn(lines);
  let previous = 0;
  return (quote) => {
    const end = quote.name === "blockquote" ? firstFrom(lines, quote.start) : previous;
    if (end === previous) return [];
    previous = end;
    const from = attributions.startAbove(end, true);
    return from === undefined ? [] : lines.slice(from, end).map((line) => elementOfLine(lines, line));
  };
}

/** The outermost element that contains this line and no other words. */
function elementOfLine(lines: readonly HtmlLine[], line: HtmlLine): Cut {
  let found: Cut = line;
  for (let around = line.parent; around !== undefined; around = around.parent) {
    const isAll = around.contentStart <= line.start && line.end <= around.contentEnd;
    const count = firstFrom(lines, around.contentEnd) - firstFrom(lines, around.contentStart);
    if (!isAll || count > 1 || around.name === "body" || around.name === "html") break;
    found = around;
  }
  return found;
}

/** The element or the line at which a quote begins: its offset and the element around it. */
type QuoteStart = Pick<HtmlElement, "start" | "parent">;

/**
 * The start of a quote without markup: "Original message" between dashes, a copied header block, or an attribution without a blockquote.
 */
function restByWords(lines: readonly HtmlLine[]): QuoteStart | undefined {
  const beginsHeader = headerBlocksIn(lines);
  const attributions = attributionsIn(lines);
  for (const [index, line] of lines.entries()) {
    if (beginsForward(line.words)) return undefined;
    const begins =
      beginsOriginal(line.words) || beginsHeader(index) || beginsByAttribution(lines, attributions.at(index));
    if (begins) return outermostFrom(lines, index - dividersAbove(lines, index));
  }
  return undefined;
}

function beginsByAttribution(lines: readonly HtmlLine[], attribution: Attribution | undefined): boolean {
  if (attribution === undefined || attribution.hasMarkedQuote) return false;
  return ![attribution.from, attribution.to].some((at) => isIndented(lines[at]?.parent));
}

function isIndented(element: HtmlElement | undefined): boolean {
  for (let around = element; around !== undefined; around = around.parent) {
    if (around.name === "blockquote") return true;
  }
  return false;
}

/** The outermost element whose first words are this line, or the line itself if there is none. */
function outermostFrom(lines: readonly HtmlLine[], index: number): QuoteStart | undefined {
  const line = lines[index];
  let found: QuoteStart | undefined = line;
  for (let around = line?.parent; around !== undefined; around = around.parent) {
    if (firstFrom(lines, around.contentStart) < index || around.name === "body" || around.name === "html") break;
    found = around;
  }
  return found;
}

/** Cuts everything from this start to the end of the body, except the end tags of the elements around it. */
function toEnd({ elements }: HtmlWalk, from: QuoteStart, bodyEnd: number): Cut[] {
  const above = elements.findLast((element) => element.start < from.start);
  // Outlook draws a line above a quote.
  const cuts: Cut[] = above?.name === "hr" ? [above] : [];
  let { start } = from;
  for (let around = from.parent; around !== undefined; around = around.parent) {
    cuts.push({ start, end: Math.min(around.contentEnd, bodyEnd) });
    start = around.end;
  }
  cuts.push({ start, end: bodyEnd });
  return cuts.filter((cut) => cut.start < cut.end);
}

/**
 * The cuts before the first line of a forwarded mail; everything from that line on is kept. If that line is the first or the second line of
 * a cut, this cut is dropped, too. A forwarded mail further inside a cut belongs to the quote and is ignored.
 */
function withoutForward(lines: readonly HtmlLine[], cuts: readonly Cut[]): readonly Cut[] {
  let next = 0;
  let around: Cut | undefined;
  for (const [index, line] of lines.entries()) {
    for (let cut = cuts[next]; cut !== undefined && cut.start <= line.start; cut = cuts[next]) {
      if (around === undefined || cut.end > around.end) around = cut;
      next += 1;
    }
    if (!beginsForward(line.words)) continue;
    const isCut = around !== undefined && line.start < around.end;
    const isFirst = around !== undefined && index - firstFrom(lines, around.start) <= 1;
    if (isCut && !isFirst) continue;
    const from = isCut ? (around?.start ?? 0) : line.start;
    return cuts.filter(({ start }) => start < from);
  }
  return cuts;
}

function hasWords(lines: readonly HtmlLine[], from: number, to: number): boolean {
  return (lines[firstFrom(lines, from)]?.start ?? to) < to;
}

/** Returns a function that is true for offsets within the cuts. The offsets must ascend. */
function withinRanges(cuts: readonly Cut[]): (offset: number) => boolean {
  let next = 0;
  let cutTo = 0;
  return (offset) => {
    for (let cut = cuts[next]; cut !== undefined && cut.start <= offset; cut = cuts[next]) {
      cutTo = Math.max(cutTo, cut.end);
      next += 1;
    }
    return offset < cutTo;
  };
}
