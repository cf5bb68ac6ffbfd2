import type { HtmlElement } from "../mail/html/html-element.ts";
import { type HtmlWalk, linesOf } from "../mail/html/html-walk.ts";
import { endOfBody } from "../mail/html/quote-html.ts";
import { type Attribution, attributionsIn } from "./attribution.ts";
import { headerBlocksIn } from "./header-block.ts";
import { firstLineFrom, type HtmlLine, htmlLines } from "./html-lines.ts";
import { type QuoteMark, quoteMarkOf } from "./quote-elements.ts";
import { beginsForward, beginsOriginal, dividersAbove } from "./reply-marks.ts";
import type { ReplyFacts } from "./reply-text.ts";

/**
 * HTML, of which `walk` was taken, without the elements by which mail programs mark a quote and a signature, cut by ranges of the original
 * and else as it is; and its words line by line. A quote that holds all the words is kept, and so is all from a forwarded mail on.
 * Undefined where nothing is to be cut.
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
  const isCut = placesWithin(cuts);
  if (lines.every(({ start }) => isCut(start))) return undefined;
  let kept = "";
  let at = 0;
  for (const { start, end } of cuts) {
    if (start > at) kept += html.slice(at, start);
    at = Math.max(at, end);
  }
  const text = () => {
    const isWithin = placesWithin(cuts);
    return linesOf(
      walk,
      walk.pieces.filter(({ start, parent }) => !isWithin(start) && parent?.look.hidden !== true),
    );
  };
  return { html: kept + html.slice(at), text };
}

/** A range of the HTML that is taken away. */
interface Cut {
  start: number;
  end: number;
}

/** In order of their beginnings. */
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

/** How much of a page's end is looked through for its end tags. */
const endOfPage = 4096;

interface Mail extends ReplyFacts {
  bodyEnd: number;
}

interface Marked extends Mail {
  index: number;
  element: HtmlElement;
  /** `indented` is a quote for its attribution alone. */
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

/** Gmail writes answers between the quoted lines into the element that holds attribution and quotes. */
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

/** The lines that stand right above a blockquote, if they are its attribution. No line is asked for two of them. */
function attributionsAbove(lines: readonly HtmlLine[]): (quote: HtmlElement) => Cut[] {
  const attributions = attributionsIn(lines);
  let asked = 0;
  return (quote) => {
    const end = quote.name === "blockquote" ? firstLineFrom(lines, quote.start) : asked;
    if (end === asked) return [];
    asked = end;
    const from = attributions.startAbove(end, true);
    return from === undefined ? [] : lines.slice(from, end).map((line) => elementOfLine(lines, line));
  };
}

/** The outermost element that holds this line and no other words. */
function elementOfLine(lines: readonly HtmlLine[], line: HtmlLine): Cut {
  let found: Cut = line;
  for (let around = line.parent; around !== undefined; around = around.parent) {
    const isAll = around.contentStart <= line.start && line.end <= around.contentEnd;
    const count = firstLineFrom(lines, around.contentEnd) - firstLineFrom(lines, around.contentStart);
    if (!isAll || count > 1 || around.name === "body" || around.name === "html") break;
    found = around;
  }
  return found;
}

/** Where an element begins, or words. */
type Place = Pick<HtmlElement, "start" | "parent">;

/** Where a quote without marks begins: a rule with "Original message", a copied head, an attribution above no blockquote. */
function restByWords(lines: readonly HtmlLine[]): Place | undefined {
  const beginsHead = headerBlocksIn(lines);
  const attributions = attributionsIn(lines);
  for (const [index, line] of lines.entries()) {
    if (beginsForward(line.words)) return undefined;
    const begins =
      beginsOriginal(line.words) || beginsHead(index) || beginsByAttribution(lines, attributions.at(index));
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

/** The outermost element that begins with this line. */
function outermostFrom(lines: readonly HtmlLine[], index: number): Place | undefined {
  const line = lines[index];
  let found: Place | undefined = line;
  for (let around = line?.parent; around !== undefined; around = around.parent) {
    if (firstLineFrom(lines, around.contentStart) < index || around.name === "body" || around.name === "html") break;
    found = around;
  }
  return found;
}

/** From an element on all that is behind it, but for the end tags of the elements around: they were open before. */
function toEnd({ elements }: HtmlWalk, from: Place, bodyEnd: number): Cut[] {
  const above = elements.findLast((element) => element.start < from.start);
  // The line that Outlook draws above what it quotes.
  const cuts: Cut[] = above?.name === "hr" ? [above] : [];
  let { start } = from;
  for (let around = from.parent; around !== undefined; around = around.parent) {
    cuts.push({ start, end: Math.min(around.contentEnd, bodyEnd) });
    start = around.end;
  }
  cuts.push({ start, end: bodyEnd });
  return cuts.filter((cut) => cut.start < cut.end);
}

/** From the line that begins a forwarded mail nothing is cut; where it is among the first words of a cut, neither is that. */
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
    const isFirst = around !== undefined && index - firstLineFrom(lines, around.start) <= 1;
    if (isCut && !isFirst) continue;
    const from = isCut ? (around?.start ?? 0) : line.start;
    return cuts.filter(({ start }) => start < from);
  }
  return cuts;
}

function hasWords(lines: readonly HtmlLine[], from: number, to: number): boolean {
  return (lines[firstLineFrom(lines, from)]?.start ?? to) < to;
}

/** Asked of places in ascending order. */
function placesWithin(cuts: readonly Cut[]): (place: number) => boolean {
  let next = 0;
  let cutTo = 0;
  return (place) => {
    for (let cut = cuts[next]; cut !== undefined && cut.start <= place; cut = cuts[next]) {
      cutTo = Math.max(cutTo, cut.end);
      next += 1;
    }
    return place < cutTo;
  };
}
