import { pdfOf, pdfOfObjects } from "./pdf.ts";
import { zipOf } from "./zip.ts";

/** Letters that hardly compress. */
export function noise(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(97 + (state % 26));
  }).join("");
}

const zeros = new Uint8Array(65 << 20);
const document = (content: string | Uint8Array) => zipOf({ "word/document.xml": content });
const loopOfPages = pdfOfObjects([
  "<< /Type /Catalog /Pages 2 0 R >>",
  "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000000 >>",
]);
const loopOfTables = Buffer.from(
  "%PDF-1.7\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Root 1 0 R /Prev 9 >>\nstartxref\n9\n%%EOF\n",
);

/** Documents that must be refused within the time of one document, with one of these reasons. */
export const hostileDocuments: readonly [about: string, name: string, bytes: Uint8Array, reasons: string[]][] = [
  ["an archive that unpacks to more than 64 MiB", "a.docx", document(zeros), ["too_large"]],
  [
    "an archive that lies about it",
    "a.docx",
    zipOf({ "word/document.xml": zeros }, { declaredBytes: 100 }),
    ["too_large"],
  ],
  [
    "an archive that unpacks to more than 200 times its size",
    "a.docx",
    document(zeros.subarray(0, 1 << 20)),
    ["too_large"],
  ],
  [
    "an archive that declares too much",
    "a.docx",
    zipOf({ "word/document.xml": "a" }, { declaredBytes: 2 ** 31 }),
    ["too_large"],
  ],
  [
    "an archive of 10,001 entries",
    "a.docx",
    zipOf(Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`a${index}`, ""]))),
    ["too_large"],
  ],
  ["a PDF whose tables refer to themselves", "a.pdf", loopOfTables, ["damaged"]],
  ["a PDF whose pages refer to themselves", "a.pdf", loopOfPages, ["damaged", "no_text", "too_large"]],
  ["a PDF of nested arrays", "a.pdf", pdfOf(["[".repeat(1_000_000)]), ["damaged", "no_text", "too_large"]],
  ["a PDF whose catalog is a nested array", "a.pdf", pdfOfObjects(["[".repeat(1_000_000)]), ["damaged", "too_large"]],
];
