import type { Look } from "./hidden-style.ts";

/** An element of HTML. All numbers are offsets in that HTML, so that it can be cut there. */
export interface HtmlElement {
  name: string;
  /** The attributes by name in lower case, with their entities decoded. The first of a name wins. */
  attributes: ReadonlyMap<string, string>;
  /** The offset of the `<` of its start tag. */
  start: number;
  /** The offset after its start tag. */
  contentStart: number;
  /** The offset of the `<` of its end tag, or of another tag that ends it. */
  contentEnd: number;
  /** The end of its end tag, or the end of the HTML if nothing ends it. */
  end: number;
  parent: HtmlElement | undefined;
  /** The visibility of its words, from its own attributes and those of the elements around it. */
  look: Look;
}
