import type { Look } from "./hidden-style.ts";

/** An element of somebody's HTML. All places are characters of that HTML, so that it can be cut there. */
export interface HtmlElement {
  name: string;
  /** By their names in lower case, with their entities decoded. Of each the first counts. */
  attributes: ReadonlyMap<string, string>;
  /** The `<` of its start tag. */
  start: number;
  /** Behind its start tag. */
  contentStart: number;
  /** The `<` of its end tag, or of whatever else ends it. */
  contentEnd: number;
  /** Behind its end tag; the end of the HTML where nothing ends it. */
  end: number;
  parent: HtmlElement | undefined;
  /** How its words are seen, by its own attributes and by those around it. */
  look: Look;
}
