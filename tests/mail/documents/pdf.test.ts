import { expect, test } from "bun:test";
import { drawn, japaneseBill, pdfOf, pdfOfObjects } from "../../support/documents/pdf.ts";
import { readAs, reasonOf, textIn } from "../../support/documents/read.ts";

const at = (text: string, x: number, y: number) => drawn([text], [x, y]);
const hex = (codes: string) => `BT /F1 12 Tf 50 700 Td <${codes}> Tj ET`;

/** A font with two octets a letter, whose letters are told by this table. */
const unicodeFont = (number: number) =>
  `<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 1000 >>] /ToUnicode ${number} 0 R >>`;
const table = (rows: string) =>
  `<< /Length ${rows.length + 200} >>\nstream\n/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange ${rows} endcmap end end\nendstream`;

test.each<[about: string, pdf: Uint8Array, text: string, pages?: number[]]>([
  ["lines are lines", pdfOf([drawn(["One", "Two"])]), "One\nTwo"],
  ["each page begins one", pdfOf([drawn(["One"]), drawn(["Two"])]), "One\n\nTwo", [0, 5]],
  [
    "pieces of a line join, with spaces at gaps",
    pdfOf([at("In", 50, 700) + at("voice", 60.7, 700) + at("Total", 200, 700)]),
    "Invoice Total",
  ],
  [
    "raised letters stand on their line",
    pdfOf([`${at("E = mc", 50, 700)} BT /F1 7 Tf 88 704 Td (2) Tj ET`]),
    "E = mc2",
  ],
  [
    "hyphens at ends of lines are undone",
    pdfOf([drawn(["An inter-", "national Co-", "Operation"])]),
    "An international Co-\nOperation",
  ],
  [
    "columns are read one after the other",
    pdfOf([drawn(["Left one", "left two"]) + drawn(["Right one", "right two"], [320, 750])]),
    "Left one\nleft two\nRight one\nright two",
  ],
  [
    "a head that is drawn last comes first",
    pdfOf([drawn(["Body one", "body two"], [50, 600]) + drawn(["Head"], [50, 750])]),
    "Head\nBody one\nbody two",
  ],
  [
    "words that are drawn again for a bold look are there once",
    pdfOf([drawn(["Once", "upon"]) + drawn(["Once", "upon"], [50.6, 751]) + drawn(["a time"], [50, 720])]),
    "Once\nupon\na time",
  ],
  ["the same words beside each other stay", pdfOf([at("l", 50, 700) + at("l", 52.6, 700)]), "ll"],
  [
    "rows of a table are lines",
    pdfOf([at("Item", 50, 700) + at("Price", 300, 700) + at("Tea", 50, 680) + at("3", 300, 680)]),
    "Item Price\nTea 3",
  ],
  [
    "rotated pages are read along their lines",
    pdfOf([drawn(["One", "Two"], [100, 100], "0 1 -1 0")], { page: "/Rotate 90" }),
    "One\nTwo",
  ],
  [
    "ligatures are letters",
    pdfOf([hex("00010002")], {
      font: unicodeFont(6),
      others: [table("2 beginbfchar <0001> <FB01> <0002> <006E> endbfchar")],
    }),
    "fin",
  ],
  [
    "Arabic is in the order of reading",
    pdfOf([hex("000300020001")], {
      font: unicodeFont(6),
      others: [table("3 beginbfchar <0001> <0633> <0002> <0644> <0003> <0627> endbfchar")],
    }),
    "سلا",
  ],
  [
    "old figures and small capitals are known by the names of their glyphs",
    pdfOf([hex("8180822E83")], {
      font: "<< /Type /Font /Subtype /Type1 /BaseFont /Any /Encoding << /Type /Encoding /Differences [128 /zero.os /one.oldstyle /a.sc /unknown.os] >> >>",
    }),
    "10a.",
  ],
  ["fonts of Japan that are not embedded have their letters", japaneseBill(), "請求書"],
  [
    "values of forms are at their place",
    pdfOf([at("Name:", 50, 700) + at("Thanks", 50, 600)], {
      page: "/Annots [<< /Type /Annot /Subtype /Widget /FT /Tx /T (n) /V (Ada Lovelace) /Rect [50 660 250 680] >>]",
    }),
    "Name:\nAda Lovelace\nThanks",
  ],
  [
    "comments are at their place",
    pdfOf([at("One", 50, 700)], {
      page: "/Annots [<< /Type /Annot /Subtype /Text /Contents (Really?) /Rect [50 600 70 620] >>]",
    }),
    "One\n[comment: Really?]",
  ],
  [
    "hidden comments are left out",
    pdfOf([at("One", 50, 700)], {
      page: "/Annots [<< /Type /Annot /Subtype /FreeText /F 2 /Contents (Gone) /Rect [50 600 70 620] >>]",
    }),
    "One",
  ],
])("pdf: %s", async (_about, pdf, text, pages = [0]) => {
  expect(await textIn("a.pdf", pdf)).toEqual({ kind: "pdf", text, pages, truncated: false });
});

test.each<[about: string, pdf: Uint8Array, reason: string]>([
  [
    "a page with a picture alone has no text",
    pdfOf(["q 100 0 0 100 50 50 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q"]),
    "no_text",
  ],
  [
    "a password is needed",
    pdfOf([drawn(["One"])], {
      trailer: `/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${"11".repeat(32)}> /U <${"22".repeat(32)}> >>`,
    }),
    "encrypted",
  ],
  ["nothing behind the head is damaged", Buffer.from("%PDF-1.7\n"), "damaged"],
  ["without pages it is damaged", pdfOfObjects(["<< /Type /Catalog >>"]), "damaged"],
])("pdf: %s", async (_about, pdf, reason) => {
  expect(reasonOf(await readAs("a.pdf", pdf))).toBe(reason);
});
