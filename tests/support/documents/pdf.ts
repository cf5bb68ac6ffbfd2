/** A PDF of these objects, the first of which is the catalog. A stream is given as its dictionary and its content. */
export function pdfOfObjects(
  objects: readonly (string | readonly [dictionary: string, content: string])[],
  trailer = "",
) {
  let file = "%PDF-1.7\n";
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    const body =
      typeof object === "string"
        ? object
        : `<< ${object[0]} /Length ${object[1].length} >>\nstream\n${object[1]}\nendstream`;
    file += `${index + 1} 0 obj\n${body}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join("")}`;
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${file.length}\n%%EOF\n`;
  return Buffer.from(file + table + end, "latin1");
}

export interface PdfOptions {
  /** The font dictionary; by default Helvetica. */
  font?: string;
  /** Further objects, from number `4 + 2 * pages` on. */
  others?: readonly string[];
  /** Further entries of each page. */
  page?: string;
  trailer?: string;
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>";

/** A PDF with a page for each content stream, which has the font `/F1`. */
export function pdfOf(
  contents: readonly string[],
  { font = helvetica, others = [], page = "", trailer }: PdfOptions = {},
) {
  const pages = contents.map((_, index) => `${4 + 2 * index} 0 R`);
  return pdfOfObjects(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      `<< /Type /Pages /Kids [${pages.join(" ")}] /Count ${pages.length} >>`,
      font,
      ...contents.flatMap((content, index) => [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R ${page} >>`,
        ["", content] as const,
      ]),
      ...others,
    ],
    trailer,
  );
}

/** Draws lines of text from a place on the page downwards. */
export function drawn(
  lines: readonly string[],
  [x, y]: readonly [number, number] = [50, 750],
  matrix = "1 0 0 1",
): string {
  const shown = lines.map((line) => `(${line.replaceAll(/[\\()]/g, "\\$&")}) Tj T*`);
  return `BT /F1 12 Tf 14 TL ${matrix} ${x} ${y} Tm ${shown.join(" ")} ET`;
}

/** A bill whose font is not embedded, so that its letters are only in the tables of Japan: 請求書. */
export function japaneseBill() {
  const system = "<< /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >>";
  const letters = `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /CIDSystemInfo ${system} /DW 1000 >>`;
  return pdfOf(["BT /F1 12 Tf 50 700 Td <90BF8B818F91> Tj ET"], {
    font: `<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /90ms-RKSJ-H /DescendantFonts [${letters}] >>`,
  });
}
