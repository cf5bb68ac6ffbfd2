import { anchorsOf } from "./anchors.ts";
import { plainColor } from "./hidden-style.ts";
import { textOfHtml } from "./html.ts";
import { type HtmlPiece, isHidden, walkHtml } from "./html-walk.ts";

/**
 * The text of HTML that came in a mail, without the words that it hides in plain: a preheader is written for a list of mails, and
 * what nobody sees is no part of what a mail says. Where nothing else is there, they stay.
 */
export function textOfSeenHtml(html: string): string {
  if (!mayHide(html)) return textOfHtml(html);
  const seen = withoutHidden(html);
  return (seen === html ? "" : textOfHtml(seen)) || textOfHtml(html);
}

/** HTML without what it hides in plain, as far as the window of a walk goes. */
export function withoutHidden(html: string): string {
  const walk = walkHtml(html);
  const anchors = [...anchorsOf(walk)].filter(({ isSeen }) => !isSeen);
  const hidden = [
    ...walk.elements.filter(({ look }) => look.gone),
    ...anchors.map(({ element }) => element),
    ...walk.pieces.filter(isHiddenWord),
  ].toSorted((a, b) => a.start - b.start);
  let out = "";
  let at = 0;
  for (const { start, end } of hidden) {
    if (end <= at) continue;
    if (start > at) out += html.slice(at, start);
    at = Math.min(end, walk.html.length);
  }
  return out + html.slice(at);
}

function isHiddenWord(piece: HtmlPiece): boolean {
  return piece.kind !== "break" && isHidden(piece);
}

/** Whether a walk may find anything hidden. It takes a third as long as to make the text, and most mail has no need of it. */
function mayHide(html: string): boolean {
  if (hides.test(html)) return true;
  const words = new Set<string>();
  const grounds = new Set<string>();
  for (const [, property = "", written = ""] of html.matchAll(colors)) {
    const color = plainColor(written);
    if (color !== undefined) (property.toLowerCase() === "color" ? words : grounds).add(color);
  }
  return !words.isDisjointFrom(grounds);
}

const hides = /hidden|display\s{0,5}:\s{0,5}none|(?:font-size|opacity)\s{0,5}:\s{0,5}[+-]?[.0]/i;
const colors =
  /(?<![\w-])(bgcolor|background(?:-color)?|color)\s{0,5}[:=]\s{0,5}["']?(#?\w{3,20}(?![\w(])|rgba?\([^)]{0,40}\))/gi;
