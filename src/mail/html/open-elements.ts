import type { HtmlElement } from "./html-element.ts";
import { impliedBy } from "./html-tags.ts";

/** An open element. The numbers are indexes in the stack, or -1 for none. */
interface Nested {
  element: HtmlElement;
  /** The innermost table, which may be the element itself. Tags of its rows and cells close nothing outside of it. */
  table: number;
  /** The innermost table or cell, which may be the element itself. All other end tags close nothing outside of it. */
  cell: number;
  /** The next outer element of the same name. */
  sameName: number;
}

/** A stack of the open elements. Every step takes constant time at any depth. */
export function openElements() {
  const stack: Nested[] = [];
  const innermostOf = new Map<string, number>();
  const indexOf = (name: string) => innermostOf.get(name) ?? -1;

  const closeTo = (depth: number, at: number) => {
    while (stack.length > depth) {
      const nested = stack.pop();
      if (nested === undefined) return;
      nested.element.contentEnd = at;
      nested.element.end = at;
      innermostOf.set(nested.element.name, nested.sameName);
    }
  };
  return {
    innermost: (): HtmlElement | undefined => stack.at(-1)?.element,
    has: (name: string) => indexOf(name) >= 0,
    hasRoom: () => stack.length < maxDepth,
    push: (element: HtmlElement) => {
      const { name } = element;
      const around = stack.at(-1);
      const index = stack.length;
      const table = name === "table" ? index : (around?.table ?? -1);
      const cell = name === "table" || cells.has(name) ? index : (around?.cell ?? -1);
      stack.push({ element, table, cell, sameName: indexOf(name) });
      innermostOf.set(name, index);
    },
    /** Closes the element with the name of an end tag, and all elements inside it. An end tag without an open element is ignored. */
    closeByTag: (name: string, start: number, end: number) => {
      // Content after these end tags still belongs to the page.
      if (name === "html" || name === "body") return;
      const index = indexOf(name);
      const around = stack.at(-1);
      if (around === undefined || index < 0 || index < (partsOfTable.has(name) ? around.table : around.cell)) return;
      const closed = stack[index]?.element;
      closeTo(index, start);
      if (closed !== undefined) closed.end = end;
    },
    /** Closes the elements whose end tag may be left out before this start tag. */
    closeImplied: (name: string, start: number) => {
      if (indexOf("head") >= 0 && !partsOfHead.has(name)) closeTo(indexOf("head"), start);
      const around = stack.at(-1);
      if (around === undefined) return;
      if (name === "a" && indexOf("a") > around.cell) closeTo(indexOf("a"), start);
      const implied = impliedBy(name);
      if (implied === undefined) return;
      if (partsOfTable.has(name) && name !== "table") {
        let outermost = stack.length;
        for (const part of implied) {
          const index = indexOf(part);
          if (index > around.table && index < outermost) outermost = index;
        }
        closeTo(outermost, start);
        return;
      }
      while (implied.has(stack.at(-1)?.element.name ?? "")) closeTo(stack.length - 1, start);
    },
  };
}

/** The limit on nesting. Real mail nests less deeply. */
const maxDepth = 200;

const cells: ReadonlySet<string> = new Set(["td", "th", "caption"]);
const partsOfTable: ReadonlySet<string> = new Set([...cells, "table", "tr", "thead", "tbody", "tfoot"]);
const partsOfHead: ReadonlySet<string> = new Set(
  "base basefont bgsound link meta title style script noscript noframes template".split(" "),
);
