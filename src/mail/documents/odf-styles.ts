import { plainColor } from "../html/hidden-style.ts";
import type { XmlAttributes } from "./xml.ts";

/** The styles of an OpenDocument file, as far as they hide something (OpenDocument 1.3 part 3, §16 and §20). */
export interface OdfStyles {
  /** Learns from the start of an element. Returns true if it is one of a style. */
  open(name: string, attribute: XmlAttributes): boolean;
  /** Whether the style with this name, or one that it is based on, hides its text, table or page. */
  hides(name: string | undefined): boolean;
}

interface Style {
  parent: string | undefined;
  isHidden: boolean;
}

/** Styles are based on others at most this deep, so that a circle ends. */
const mostParents = 20;

export function odfStyles(): OdfStyles {
  const styles = new Map<string, Style>();
  let current: Style | undefined;
  return {
    open(name, attribute) {
      if (!name.startsWith("style:")) return false;
      if (name === "style:style") {
        current = { parent: attribute("style:parent-style-name"), isHidden: false };
        styles.set(attribute("style:name") ?? "", current);
      } else if (current !== undefined && hiding.has(name)) current.isHidden ||= isHiding(name, attribute);
      return true;
    },
    hides(name) {
      let style = styles.get(name ?? "");
      for (let level = 0; style !== undefined && level < mostParents; level++) {
        if (style.isHidden) return true;
        style = styles.get(style.parent ?? "");
      }
      return false;
    },
  };
}

const hiding: ReadonlySet<string> = new Set([
  "style:text-properties",
  "style:table-properties",
  "style:drawing-page-properties",
]);

function isHiding(name: string, attribute: XmlAttributes): boolean {
  if (name === "style:table-properties") return attribute("table:display") === "false";
  if (name === "style:drawing-page-properties") return attribute("presentation:visibility") === "hidden";
  if (attribute("text:display") === "none") return true;
  const color = plainColor(attribute("fo:color") ?? "");
  if (color !== undefined && color === plainColor(attribute("fo:background-color") ?? "")) return true;
  return /^[01](?:\.\d{1,4})?pt$/.test(attribute("fo:font-size") ?? "");
}
