import { afterAll, expect, test } from "bun:test";
import type { ReadDocument } from "../../../src/domain/document.ts";
import { documentReader } from "../../../src/mail/documents/document-reader.ts";
import { busiest } from "../../support/busy.ts";
import { hostileDocuments, noise } from "../../support/documents/hostile.ts";
import { longDocuments } from "../../support/documents/long.ts";
import { docxOf, odfOf, xlsxOf } from "../../support/documents/office.ts";
import { drawn, pdfOf } from "../../support/documents/pdf.ts";
import { reasonOf } from "../../support/documents/read.ts";
import { zipOf } from "../../support/documents/zip.ts";
import { failureOf } from "../../support/failure.ts";
import { fairly } from "../../support/fair-time.ts";

const reader = documentReader({ queueMs: 60_000 });
afterAll(() => reader.close());

const read = (filename: string, bytes: Uint8Array) =>
  reader.read(async () => ({ bytes, filename, contentType: "application/octet-stream" }), "acc_1");

const laughs = Array.from({ length: 20 }, (_, level) => `<!ENTITY l${level + 1} "${`&l${level};`.repeat(10)}">`);
const manyPages = pdfOf(Array.from({ length: 10_000 }, (_, index) => drawn([`Page ${index}`])));

test.each(hostileDocuments)(
  "%s is refused in time, while this process goes on",
  async (_about, name, bytes, reasons) => {
    await read("a.txt", Buffer.from("The process is up"));
    const { result, busyMs } = await busiest(() => fairly(() => read(name, bytes)));
    expect(reasons).toContain(reasonOf(result.result) ?? "none");
    expect(result.fairMs).toBeLessThan(2500);
    expect(busyMs).toBeLessThan(250);
  },
);

test.each(longDocuments())("100 pages of %s are read within a second", async (_about, name, bytes) => {
  await read("a.txt", Buffer.from("The process is up"));
  let timed = await fairly(() => read(name, bytes));
  // A process that gets hardly any processor time for five seconds is ended, or cuts the document.
  while (timed.tookMs > 5_000) timed = await fairly(() => read(name, bytes));
  const { result, fairMs } = timed;
  expect(textOf(result).text.split("parcel")).toHaveLength(100 * 45 + 1);
  expect(fairMs).toBeLessThan(1000);
});

test.each<[about: string, name: string, bytes: Uint8Array, text: string]>([
  [
    "entities of XML are not followed",
    "a.docx",
    zipOf({
      "word/document.xml": `<!DOCTYPE a [<!ENTITY l0 "ha">${laughs.join("")}]><w:p><w:r><w:t>a&l20;</w:t></w:r></w:p>`,
    }),
    "a&l20;",
  ],
  [
    "nothing is fetched for XML",
    "a.docx",
    zipOf({
      "word/document.xml":
        '<!DOCTYPE a SYSTEM "file:///etc/hostname" [<!ENTITY f SYSTEM "file:///etc/hostname">]><w:p><w:r><w:t>a&f;</w:t></w:r></w:p>',
    }),
    "a&f;",
  ],
  ["100,000 nested elements", "a.docx", docxOf(`${"<w:sdt>".repeat(100_000)}<w:p><w:r><w:t>a</w:t></w:r></w:p>`), "a"],
  [
    "10,000 nested tables",
    "a.docx",
    docxOf(
      `${"<w:tbl><w:tr><w:tc>".repeat(10_000)}<w:p><w:r><w:t>a</w:t></w:r></w:p>${"</w:tc></w:tr></w:tbl>".repeat(10_000)}`,
    ),
    "a",
  ],
  ["10,000 nested groups", "a.rtf", Buffer.from(`{\\rtf1 ${"{".repeat(10_000)}a`), "a"],
  ["a tag that is not closed", "a.odt", odfOf("odt", `<text:p>a</text:p><text:p ${noise(1_000_000)}`), "a"],
])("%s are read in time", async (_about, name, bytes, text) => {
  expect(await read(name, bytes)).toMatchObject({ text });
});

test("a PDF of 10,000 pages is cut in time, at the end of a page", async () => {
  const { text, pages } = textOf(await read("a.pdf", manyPages));
  expect(pages).toHaveLength(Math.min(1000, text.split("\n\n").length));
  for (const [number, page] of text.split("\n\n").entries()) expect(page).toBe(`Page ${number}`);
});

test("a sheet that fills a million cells by repetition is cut", async () => {
  const cell = '<table:table-cell table:number-columns-repeated="16384"><text:p>abcdefgh</text:p></table:table-cell>';
  const row = `<table:table-row table:number-rows-repeated="1048576">${cell}</table:table-row>`;
  const { truncated } = textOf(await read("a.ods", odfOf("ods", `<table:table table:name="a">${row}</table:table>`)));
  expect(truncated).toBeTrue();
});

test("a row for each of a million columns at the edge is cut", async () => {
  const rows = '<row><c r="XFD1"><v>1</v></c></row>'.repeat(1000);
  const sheets = [{ name: "a", data: `<sheetData>${rows}</sheetData><!-- ${noise(65_536)} -->` }];
  expect(textOf(await read("a.xlsx", xlsxOf(sheets))).truncated).toBeTrue();
});

test("a document that takes too long is too large, and the next one is read", async () => {
  const hurried = documentReader({ queueMs: 60_000, timeoutMs: 1 });
  const load = (bytes: Uint8Array, filename: string) => async () => ({ bytes, filename, contentType: "" });
  const slow = await hurried.read(load(Buffer.from(`{\\rtf1 ${"{a}".repeat(4_000_000)}`), "a.rtf"), "acc_1");
  expect(reasonOf(slow)).toBe("too_large");
  hurried.close();
  expect(textOf(await read("a.txt", Buffer.from("words"))).text).toBe("words");
});

test("a document that cannot be loaded rejects, and the next one is read", async () => {
  const broken = reader.read(() => Promise.reject(new Error("no database")), "acc_1");
  expect(String(await failureOf(broken))).toContain("no database");
  expect(textOf(await read("a.txt", Buffer.from("words"))).text).toBe("words");
});

function textOf(read: ReadDocument | undefined) {
  if (read === undefined || "reason" in read)
    throw new Error(`Cannot read: ${reasonOf(read) ?? "no process was free"}`);
  return read;
}
