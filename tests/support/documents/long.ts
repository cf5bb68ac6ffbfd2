import { docxOf, xlsxOf } from "./office.ts";
import { drawn, pdfOf } from "./pdf.ts";

const pages = 100;
const linesOfPage = 45;
const line = (page: number, number: number) =>
  `Line ${number} of page ${page}: the parcel left on Monday and is on its way to you, as agreed last week.`;
const linesOn = (page: number) => Array.from({ length: linesOfPage }, (_, number) => line(page, number));

/** A text of 100 pages with 810 words on each in three formats: what it is, its name and its bytes. */
export function longDocuments(): [about: string, filename: string, bytes: Uint8Array][] {
  const texts = Array.from({ length: pages }, (_, page) => linesOn(page));
  const paragraphs = texts.flat().map((words) => `<w:p><w:r><w:t>${words}</w:t></w:r></w:p>`);
  const cells = texts
    .flat()
    .map((words) => words.split(" ").map((word) => `<c t="inlineStr"><is><t>${word}</t></is></c>`));
  const rows = cells.map((row) => `<row>${row.join("")}</row>`);
  return [
    ["PDF", "long.pdf", pdfOf(texts.map((lines) => drawn(lines)))],
    ["Word", "long.docx", docxOf(paragraphs.join(""))],
    ["Excel", "long.xlsx", xlsxOf([{ name: "Long", data: `<sheetData>${rows.join("")}</sheetData>` }])],
  ];
}
