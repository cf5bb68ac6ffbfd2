import type { HtmlElement } from "./html-element.ts";
import { type HtmlPiece, type HtmlWalk, isHidden, linesOf, piecesBetween } from "./html-walk.ts";

/** A link in HTML. */
export interface Anchor {
  element: HtmlElement;
  /** The address as written, with its entities decoded. */
  href: string;
  /** Its visible words, or the alternative texts of its pictures if it has no words. */
  words: string;
  /** False if all of its content is hidden. */
  isSeen: boolean;
}

/** The links in HTML that was parsed, in order. A nested link ends the words of the outer one, so that no words are read twice. */
export function* anchorsOf(walk: HtmlWalk): Generator<Anchor> {
  const pictures = walk.elements.filter(({ name, look }) => name === "img" && !look.gone);
  let picture = 0;
  const elements = walk.elements.filter(({ name, attributes }) => name === "a" && attributes.has("href"));
  for (const [index, element] of elements.entries()) {
    const end = Math.min(element.contentEnd, elements[index + 1]?.start ?? element.contentEnd);
    const pieces = piecesBetween(walk, element.contentStart, end);
    while ((pictures[picture]?.start ?? end) < element.start) picture++;
    const alternatives: string[] = [];
    for (; (pictures[picture]?.start ?? end) < end; picture++) {
      alternatives.push(pictures[picture]?.attributes.get("alt") ?? "");
    }
    const seen = pieces.filter((piece) => !isHidden(piece));
    const words = linesOf(walk, seen) || alternatives.join(" ").trim();
    const isSeen = !element.look.gone && (words !== "" || alternatives.length > 0 || !pieces.some(isWord(walk)));
    yield { element, href: element.attributes.get("href") ?? "", words, isSeen };
  }
}

function isWord({ html }: HtmlWalk): (piece: HtmlPiece) => boolean {
  return ({ kind, start, end }) => kind !== "break" && html.slice(start, end).trim() !== "";
}
