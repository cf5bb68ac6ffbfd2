import type { HtmlElement } from "./html-element.ts";
import { impliedBy } from "./html-tags.ts";

/** An element that is not closed yet. */
interface Nested {
  element: HtmlElement;
  /** Where the table around begins; -1 without one. No part of a table closes one of the table around that. */
  table: number;
  /** Where the table or the cell around begins. No other end tag reaches beyond it. */
  cell: number;
  /** The next one outwards of the same name; -1 without one. */
  sameName: number;
}

/** The elements that are open at a place, from the outermost. Every step takes the same time, however deep the nesting is. */
export function openElements() {
  const stack: Nested[] = [];
  const places = new Map<string, number>();
  const place = (name: string) => places.get(name) ?? -1;

  const closeTo = (depth: number, at: number) => {
    while (stack.length > depth) {
      const nested = stack.pop();
      if (nested === undefined) return;
      nested.element.contentEnd = at;
      nested.element.end = at;
      places.set(nested.element.name, nested.sameName);
    }
  };
  return {
    innermost: (): HtmlElement | undefined => stack.at(-1)?.element,
    has: (name: string) => place(name) >= 0,
    hasRoom: () => stack.length < maxDepth,
    push: (element: HtmlElement) => {
      const { name } = element;
      const around = stack.at(-1);
      const index = stack.length;
      const table = name === "table" ? index : (around?.table ?? -1);
      const cell = name === "table" || cells.has(name) ? index : (around?.cell ?? -1);
      stack.push({ element, table, cell, sameName: place(name) });
      places.set(name, index);
    },
    /** Closes what an end tag closes; one that fits nothing is passed over. */
    closeByTag: (name: string, start: number, end: number) => {
      // What stands behind them still belongs to the page.
      if (name === "html" || name === "body") return;
      const index = place(name);
      const around = stack.at(-1);
      if (around === undefined || index < 0 || index < (partsOfTable.has(name) ? around.table : around.cell)) return;
      const closed = stack[index]?.element;
      closeTo(index, start);
      if (closed !== undefined) closed.end = end;
    },
    /** Closes the elements whose end tag may be left out before this start tag. */
    closeImplied: (name: string, start: number) => {
      if (place("head") >= 0 && !partsOfHead.has(name)) closeTo(place("head"), start);
      const around = stack.at(-1);
      if (around === undefined) return;
      if (name === "a" && place("a") > around.cell) closeTo(place("a"), start);
      const implied = impliedBy(name);
      if (implied === undefined) return;
      if (partsOfTable.has(name) && name !== "table") {
        let outermost = stack.length;
        for (const part of implied) {
          const index = place(part);
          if (index > around.table && index < outermost) outermost = index;
        }
        closeTo(outermost, start);
        return;
      }
      while (implied.has(stack.at(-1)?.element.name ?? "")) closeTo(stack.length - 1, start);
    },
  };
}

/** No real mail nests deeper. */
const maxDepth = 200;

const cells: ReadonlySet<string> = new Set(["td", "th", "caption"]);
const partsOfTable: ReadonlySet<string> = new Set([...cells, "table", "tr", "thead", "tbody", "tfoot"]);
const partsOfHead: ReadonlySet<string> = new Set(
  "base basefont bgsound link meta title style script noscript noframes template".split(" "),
);
