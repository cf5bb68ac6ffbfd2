import { decodedText } from "../mail/html/entities.ts";
import type { HtmlElement } from "../mail/html/html-element.ts";
import { type HtmlWalk, withSingleSpaces } from "../mail/html/html-walk.ts";
import { longestLine, type TextLine, textLine } from "./reply-lines.ts";

/** A visible line of HTML. `start` and `end` are offsets in the HTML. */
export interface HtmlLine extends TextLine {
  /** The element around its first words. */
  parent: HtmlElement | undefined;
}

/** The visible lines of the HTML that have words, in order. */
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

/** Matches ASCII text without vertical tabs. All its white space is that of HTML, which `withSingleSpaces` has merged already. */
const plainSpaces = /^[\0-\n\f-\x7f]*$/;
const looseSpace = /[^\S ]\s*| \s+/g;

/** The most characters of HTML that are read of one piece. HTML may be longer than its text, since an entity has several characters. */
const mostWritten = 4 * longestLine;
