import type { TextSheet } from "./text-sheet.ts";

/** Writes the rows of tables as lines of cells with tabs between. Tables may be nested. */
export interface TableRows {
  beginRow(): void;
  beginCell(): void;
  endCell(): void;
  endRow(): void;
}

/** Deeper cells are lines of their own: each level copies all text within. */
const mostLevels = 8;

export function tableRows(sheet: TextSheet): TableRows {
  const rows: string[][] = [];
  return {
    beginRow: () => void rows.push([]),
    beginCell() {
      if (rows.length <= mostLevels) sheet.beginApart();
    },
    endCell() {
      if (rows.length <= mostLevels) rows.at(-1)?.push(sheet.takeApart().trim());
      else sheet.endLine();
    },
    endRow() {
      const cells = rows.pop() ?? [];
      // A table of one cell lays out a page, so its lines stay.
      const [only] = cells;
      sheet.endLine();
      sheet.add(cells.length === 1 && only !== undefined ? only : lineOfCells(cells));
      sheet.endLine();
    },
  };
}

/** Cells on one line, with tabs between. */
export function lineOfCells(cells: readonly string[]): string {
  return cells.map(inOneLine).join("\t").trimEnd();
}

export function inOneLine(text: string): string {
  return /[\t\n\r]/.test(text) ? text.replace(/[\t\n\r]+/g, " ").trim() : text;
}
