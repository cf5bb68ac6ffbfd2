import { anchorsOf } from "./anchors.ts";
import { lookReader, plainLook } from "./hidden-style.ts";
import { textOfHtml } from "./html.ts";
import { scanHtml } from "./html-tags.ts";
import { decodedAttributes, type HtmlPiece, htmlWindow, isHidden, walkHtml } from "./html-walk.ts";

/**
 * The text of a mail's HTML, without its hidden words, such as preheaders, which are written for lists of mails. If all words are hidden,
 * they are kept.
 */
export function textOfSeenHtml(html: string): string {
  if (!mayHide(html)) return textOfHtml(html);
  const seen = withoutHidden(html);
  return (seen === html ? "" : textOfHtml(seen)) || textOfHtml(html);
}

/** The HTML without its hidden elements and words. Only the first `htmlWindow` characters are examined. */
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
 * A quick test before a walk: false means that a walk would find no hidden words, as in most mail. A walk takes a third of the time of
 * making the text. A regular expression would need all spellings of a style.
 */
export function mayHide(html: string): boolean {
  const lookOf = lookReader();
  const words = new Set<string>();
  const grounds = new Set<string>();
  let hides = false;
  scanHtml(html.slice(0, htmlWindow), {
    // Keeps all attributes, as a walk does. Otherwise the limit on their number would drop other attributes than in a walk.
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
