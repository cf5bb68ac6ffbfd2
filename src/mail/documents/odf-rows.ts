import { lineOfCells, tableRows } from "./table-rows.ts";
import type { TextSheet } from "./text-sheet.ts";
import type { XmlAttributes } from "./xml.ts";

/** Writes the tables of an OpenDocument file. */
export interface OdfRows {
  /** Reads the start of an element. The result `false` skips it. */
  open(name: string, attribute: XmlAttributes): unknown;
  close(name: string): void;
}

/** The tables of texts and presentations. */
export function odfTableRows(sheet: TextSheet): OdfRows {
  const rows = tableRows(sheet);
  return {
    open(name) {
      if (name === "table:table") sheet.endLine();
      else if (name === "table:table-row") rows.beginRow();
      else if (name === "table:table-cell") rows.beginCell();
    },
    close(name) {
      if (name === "table:table") sheet.endBlock();
      else if (name === "table:table-row") rows.endRow();
      else if (name === "table:table-cell") rows.endCell();
    },
  };
}

/** A repeated row or cell with text is written at most this often. */
const mostRepeats = 1000;
const mostColumns = 16_384;

/** The sheets of a spreadsheet, each with its name. Hidden rows and columns are left out. */
export function odfSheetRows(sheet: TextSheet): OdfRows {
  let hidden: { first: number; last: number }[] = [];
  let columns = 0;
  let column = 0;
  let repeats = 1;
  let cellRepeats = 1;
  let cells: string[] = [];

  /** Adds a cell for each of its shown columns. */
  function addCell(text: string): void {
    const last = Math.min(column + cellRepeats, mostColumns);
    const most = text === "" ? mostColumns : mostRepeats;
    for (let at = column; at < last && at < column + most; at++) {
      const isHidden = hidden.some((range) => at >= range.first && at <= range.last);
      if (!isHidden) cells.push(text);
    }
    column = last;
  }

  return {
    open(name, attribute) {
      switch (name) {
        case "table:table":
          sheet.beginPage();
          sheet.add(attribute("table:name") ?? "");
          sheet.endLine();
          hidden = [];
          columns = 0;
          return;
        case "table:table-column": {
          const count = countOf(attribute("table:number-columns-repeated"));
          if (isHidden(attribute) && hidden.length < mostColumns) {
            hidden.push({ first: columns, last: columns + count - 1 });
          }
          columns += count;
          return;
        }
        case "table:table-row":
          cells = [];
          column = 0;
          repeats = countOf(attribute("table:number-rows-repeated"));
          return !isHidden(attribute);
        case "table:table-cell":
        case "table:covered-table-cell":
          cellRepeats = countOf(attribute("table:number-columns-repeated"));
          return sheet.beginApart();
        default:
          return;
      }
    },
    close(name) {
      if (name === "table:table-cell" || name === "table:covered-table-cell") addCell(sheet.takeApart().trim());
      else if (name === "table:table-row") {
        const line = lineOfCells(cells);
        for (let count = 0; line !== "" && count < Math.min(repeats, mostRepeats); count++) {
          sheet.add(line);
          sheet.endLine();
        }
      }
    },
  };
}

function isHidden(attribute: XmlAttributes): boolean {
  return /^(?:collapse|filter)$/.test(attribute("table:visibility") ?? "");
}

function countOf(value: string | undefined): number {
  const count = Number(value ?? 1);
  return Number.isSafeInteger(count) && count > 0 ? count : 1;
}
