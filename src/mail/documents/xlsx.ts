import { type NumberFormat, numberFormats, shownNumber } from "./number-format.ts";
import { partOf, relationsOf } from "./package-parts.ts";
import { inOneLine, lineOfCells } from "./table-rows.ts";
import type { TextSheet } from "./text-sheet.ts";
import { readXml } from "./xml.ts";
import type { Zip } from "./zip.ts";

const workbook = "xl/workbook.xml";

/** Reads a workbook (ECMA-376-1 §18): each sheet with its name, rows as lines of cells with tabs between. Hidden ones are left out. */
export function readXlsx(zip: Zip, sheet: TextSheet): void {
  const relations = relationsOf(zip, workbook);
  const partOfType = (type: string) => relations.find((each) => each.type === type)?.target ?? "";
  const strings = sharedStrings(zip.read(partOfType("sharedStrings")));
  const formats = numberFormats(zip.read(partOfType("styles")));
  const { sheets, isFrom1904 } = sheetsIn(partOf(zip, workbook));
  for (const { name, relation } of sheets) {
    const part = relations.find(({ id }) => id === relation)?.target ?? "";
    const bytes = zip.read(part);
    if (bytes === undefined) continue;
    sheet.beginPage();
    sheet.add(name);
    sheet.endLine();
    readRows(bytes, { strings, formats, isFrom1904, comments: commentsOf(zip, part) }, sheet);
  }
}

interface SheetName {
  name: string;
  relation: string;
}

function sheetsIn(bytes: Buffer): { sheets: SheetName[]; isFrom1904: boolean } {
  const sheets: SheetName[] = [];
  let isFrom1904 = false;
  readXml(bytes, {
    open(name, attribute) {
      if (name === "workbookPr") isFrom1904 = ["1", "true"].includes(attribute("date1904") ?? "");
      if (name !== "sheet" || /^(?:very)?hidden$/i.test(attribute("state") ?? "")) return;
      sheets.push({ name: attribute("name") ?? "", relation: attribute("r:id") ?? "" });
    },
  });
  return { sheets, isFrom1904 };
}

/** Strings that cells refer to by number. Phonetic readings are left out. */
function sharedStrings(bytes: Buffer | undefined): string[] {
  const strings: string[] = [];
  if (bytes === undefined) return strings;
  let current = "";
  let isText = false;
  readXml(bytes, {
    open(name) {
      if (name === "si") current = "";
      isText = name === "t";
      return name !== "rPh";
    },
    close(name) {
      if (name === "si") strings.push(unescaped(current));
      isText = false;
    },
    text(text) {
      if (isText) current += text;
    },
  });
  return strings;
}

/** Decodes characters that XML cannot have, such as `_x000D_` (ECMA-376-1 §22.9.2.19). */
function unescaped(text: string): string {
  if (!text.includes("_x")) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The comments of a sheet by the references of their cells. */
function commentsOf(zip: Zip, part: string): Map<string, string> {
  const comments = new Map<string, string>();
  for (const { type, target } of relationsOf(zip, part)) {
    const bytes = type === "comments" ? zip.read(target) : undefined;
    if (bytes !== undefined) readComments(bytes, comments);
  }
  return comments;
}

function readComments(bytes: Buffer, comments: Map<string, string>): void {
  let reference = "";
  let said = "";
  let isText = false;
  readXml(bytes, {
    open(name, attribute) {
      if (name === "comment") {
        reference = attribute("ref") ?? "";
        said = "";
      }
      isText = name === "t";
      return name !== "rPh" && name !== "authors";
    },
    close(name) {
      if (name === "comment" && said.trim() !== "") comments.set(reference, inOneLine(unescaped(said)).trim());
      isText = false;
    },
    text(text) {
      if (isText) said += text;
    },
  });
}

interface Workbook {
  strings: readonly string[];
  formats: readonly NumberFormat[];
  isFrom1904: boolean;
  comments: ReadonlyMap<string, string>;
}

interface Cell {
  reference: string;
  column: number;
  type: string;
  format: NumberFormat;
  value: string;
}

function readRows(bytes: Buffer, book: Workbook, sheet: TextSheet): void {
  const hidden: { first: number; last: number }[] = [];
  let cells: string[] = [];
  let cell: Cell | undefined;
  let column = 0;
  let isValue = false;

  const isHidden = (at: number) => hidden.some(({ first, last }) => at >= first && at <= last);

  function endCell({ reference, column: at, value, type, format }: Cell): void {
    if (isHidden(at)) return;
    const comment = book.comments.get(reference);
    const shown = shownValue({ type, value, format }, book);
    if (shown === "" && comment === undefined) return;
    // Hidden columns take no place.
    const place =
      at - hidden.reduce((count, { first, last }) => count + Math.max(0, Math.min(at, last + 1) - first), 0);
    while (cells.length < place) cells.push("");
    cells.push([inOneLine(shown), comment && `[comment: ${comment}]`].filter(Boolean).join(" "));
  }

  readXml(bytes, {
    open(name, attribute) {
      switch (name) {
        case "col":
          if (isTrue(attribute("hidden")) && hidden.length < mostColumns) {
            hidden.push({ first: Number(attribute("min")) - 1, last: Number(attribute("max")) - 1 });
          }
          return;
        case "row":
          cells = [];
          column = 0;
          return !isTrue(attribute("hidden"));
        case "c": {
          const reference = attribute("r") ?? "";
          column = columnOf(reference) ?? column;
          const format = book.formats[Number(attribute("s") ?? 0)] ?? "general";
          cell = { reference, column, type: attribute("t") ?? "n", format, value: "" };
          column++;
          return;
        }
        case "v":
        case "t":
          isValue = cell !== undefined;
          return;
        case "rPh":
        case "f":
        case "extLst":
          return false;
        default:
          return;
      }
    },
    close(name) {
      isValue = false;
      if (name === "c" && cell !== undefined) {
        endCell(cell);
        cell = undefined;
      }
      if (name !== "row") return;
      sheet.add(lineOfCells(cells));
      sheet.endLine();
    },
    text(text) {
      if (isValue && cell !== undefined) cell.value += text;
    },
  });
}

const mostColumns = 16_384;

function isTrue(value: string | undefined): boolean {
  return value === "1" || value === "true";
}

/** The column of a reference such as `AB12`, from 0; undefined if it has none. */
function columnOf(reference: string): number | undefined {
  const [letters] = /^[A-Z]{1,3}/.exec(reference) ?? [];
  if (letters === undefined) return undefined;
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return Math.min(column, mostColumns) - 1;
}

function shownValue({ type, value, format }: Pick<Cell, "type" | "value" | "format">, book: Workbook): string {
  if (format === "nothing") return "";
  if (type === "s") return book.strings[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  if (type === "n") return shownNumber(value, format, book.isFrom1904);
  return unescaped(value);
}
