import { decodedText } from "../mail/html/entities.ts";
import type { HtmlElement } from "../mail/html/html-element.ts";
import { type HtmlWalk, withSingleSpaces } from "../mail/html/html-walk.ts";
import { longestLine, type TextLine, textLine } from "./reply-lines.ts";

/** A line of words that a reader of HTML sees, with its place in the HTML. */
export interface HtmlLine extends TextLine {
  /** The element that its first words stand in. */
  parent: HtmlElement | undefined;
}

/** The lines with words, in order. What the HTML hides is none of them. */
export function htmlLines({ html, pieces }: HtmlWalk): HtmlLine[] {
  const lines: HtmlLine[] = [];
  let open: { written: string; start: number; end: number; parent: HtmlElement | undefined } | undefined;
  const close = () => {
    if (open === undefined) return;
    const spaced = withSingleSpaces(open.written);
    const words = plainSpaces.test(spaced) ? spaced : spaced.replaceAll(looseSpace, " ");
    const line = textLine(words, open.start, open.end);
    if (!line.isBlank) lines.push(Object.assign(line, { parent: open.parent }));
    open = undefined;
  };
  for (const { kind, start, end, parent } of pieces) {
    if (parent?.look.hidden === true) continue;
    if (kind === "break") {
      close();
      continue;
    }
    const isFull = open !== undefined && open.written.length >= longestLine;
    const words = isFull ? "" : decodedText(html.slice(start, Math.min(end, start + mostWritten)));
    if (open === undefined && words.trim() === "") continue;
    open ??= { written: "", start, end, parent };
    open.written += words;
    if (words.trim() !== "" || isFull) open.end = end;
  }
  close();
  return lines;
}

/** The index of the first line that begins at this place or behind it. */
export function firstLineFrom(lines: readonly HtmlLine[], place: number): number {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lines[middle]?.start ?? place) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** True for what has no white space beyond that of HTML, such as a space that no line may be broken at. */
const plainSpaces = /^[\0-\n\f-\x7f]*$/;
const looseSpace = /[^\S ]\s*| \s+/g;

/** An entity takes a few characters for one. */
const mostWritten = 4 * longestLine;
