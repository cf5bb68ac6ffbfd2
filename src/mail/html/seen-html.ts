import { anchorsOf } from "./anchors.ts";
import { lookReader, plainLook } from "./hidden-style.ts";
import { textOfHtml } from "./html.ts";
import { scanHtml } from "./html-tags.ts";
import { decodedAttributes, type HtmlPiece, htmlWindow, isHidden, walkHtml } from "./html-walk.ts";

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

/**
 * Whether a walk may find anything hidden: always where it does. It takes a third as long as to make the text, and most mail has no
 * need of it. A pattern over what is written would have to know all the ways to write a style.
 */
export function mayHide(html: string): boolean {
  const lookOf = lookReader();
  const words = new Set<string>();
  const grounds = new Set<string>();
  let hides = false;
  scanHtml(html.slice(0, htmlWindow), {
    // A walk keeps them all, and of many in one tag only the first.
    keeps: () => true,
    onText: () => {},
    onTag: ({ attributes }) => {
      if (hides || attributes.size === 0) return;
      const { hidden, color, background } = lookOf(decodedAttributes(attributes), plainLook);
      hides = hidden;
      if (color !== undefined) words.add(color);
      if (background !== undefined) grounds.add(background);
    },
  });
  return hides || !words.isDisjointFrom(grounds);
}
