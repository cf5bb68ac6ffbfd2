import { zipOf } from "./zip.ts";

/** Small documents of Microsoft Office and OpenDocument around the given XML. */

const office = "http://schemas.openxmlformats.org";
const types = `${office}/officeDocument/2006/relationships`;
const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';

type Parts = Readonly<Record<string, string>>;

export function relationships(links: readonly [id: string, type: string, target: string][]): string {
  const rows = links.map(
    ([id, type, target]) => `<Relationship Id="${id}" Type="${types}/${type}" Target="${target}"/>`,
  );
  return `${head}<Relationships xmlns="${office}/package/2006/relationships">${rows.join("")}</Relationships>`;
}

export interface DocxParts {
  styles?: string;
  footnotes?: string;
  comments?: string;
  /** Elements before the body. */
  before?: string;
}

export function docxOf(body: string, { before = "", ...parts }: DocxParts = {}): Uint8Array {
  const w = `xmlns:w="${office}/wordprocessingml/2006/main" xmlns:mc="${office}/markup-compatibility/2006"`;
  const names = Object.keys(parts) as (keyof typeof parts)[];
  const others = names.map(
    (name) => [`word/${name}.xml`, `${head}<w:${name} ${w}>${parts[name]}</w:${name}>`] as const,
  );
  return zipOf({
    "[Content_Types].xml": `${head}<Types/>`,
    "word/_rels/document.xml.rels": relationships(names.map((name) => [name, name, `${name}.xml`])),
    "word/document.xml": `${head}<w:document ${w}>${before}<w:body>${body}</w:body></w:document>`,
    ...Object.fromEntries(others),
  });
}

export interface XlsxSheet {
  name: string;
  data: string;
  state?: string;
  comments?: string;
}

export function xlsxOf(sheets: readonly XlsxSheet[], parts: { strings?: string; styles?: string; book?: string } = {}) {
  const main = `xmlns="${office}/spreadsheetml/2006/main" xmlns:r="${types}"`;
  const listed = sheets.map(
    ({ name, state = "visible" }, index) =>
      `<sheet name="${name}" sheetId="${index + 1}" state="${state}" r:id="s${index}"/>`,
  );
  const own = sheets.flatMap(({ data, comments }, index): [string, string][] => [
    [`xl/worksheets/sheet${index}.xml`, `${head}<worksheet ${main}>${data}</worksheet>`],
    ...(comments === undefined
      ? []
      : ([
          [`xl/worksheets/_rels/sheet${index}.xml.rels`, relationships([["c", "comments", `../comments${index}.xml`]])],
          [`xl/comments${index}.xml`, `${head}<comments ${main}>${comments}</comments>`],
        ] as [string, string][])),
  ]);
  return zipOf({
    "xl/workbook.xml": `${head}<workbook ${main}>${parts.book ?? ""}<sheets>${listed.join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relationships([
      ...sheets.map(
        (_, index) => [`s${index}`, "worksheet", `worksheets/sheet${index}.xml`] as [string, string, string],
      ),
      ["strings", "sharedStrings", "sharedStrings.xml"],
      ["styles", "styles", "styles.xml"],
    ]),
    ...(parts.strings === undefined ? {} : { "xl/sharedStrings.xml": `${head}<sst ${main}>${parts.strings}</sst>` }),
    ...(parts.styles === undefined
      ? {}
      : { "xl/styles.xml": `${head}<styleSheet ${main}>${parts.styles}</styleSheet>` }),
    ...Object.fromEntries(own),
  });
}

export interface PptxSlide {
  shapes: string;
  isHidden?: boolean;
  notes?: string;
}

export function pptxOf(slides: readonly PptxSlide[]): Uint8Array {
  const p = `xmlns:p="${office}/presentationml/2006/main" xmlns:a="${office}/drawingml/2006/main" xmlns:r="${types}"`;
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="s${index}"/>`);
  const parts = slides.flatMap(({ shapes, isHidden = false, notes }, index): [string, string][] => [
    [`ppt/slides/slide${index}.xml`, `${head}<p:sld ${p}${isHidden ? ' show="0"' : ""}>${tree(shapes)}</p:sld>`],
    ...(notes === undefined
      ? []
      : ([
          [`ppt/slides/_rels/slide${index}.xml.rels`, relationships([["n", "notesSlide", `../notes/n${index}.xml`]])],
          [`ppt/notes/n${index}.xml`, `${head}<p:notes ${p}>${tree(notes)}</p:notes>`],
        ] as [string, string][])),
  ]);
  return zipOf({
    "ppt/presentation.xml": `${head}<p:presentation ${p}><p:sldIdLst>${ids.join("")}</p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": relationships(
      slides.map((_, index) => [`s${index}`, "slide", `slides/slide${index}.xml`]),
    ),
    ...Object.fromEntries(parts),
  });
}

const tree = (shapes: string) => `<p:cSld><p:spTree>${shapes}</p:spTree></p:cSld>`;

/** A shape with these paragraphs. */
export function shape(paragraphs: readonly string[], properties = '<p:cNvPr id="2" name="a"/>', fill = ""): string {
  const text = paragraphs.map(
    (words) => `<a:p>${words.startsWith("<") ? words : `<a:r><a:t>${words}</a:t></a:r>`}</a:p>`,
  );
  return `<p:sp><p:nvSpPr>${properties}</p:nvSpPr><p:spPr>${fill}</p:spPr><p:txBody>${text.join("")}</p:txBody></p:sp>`;
}

const odfTypes = { odt: "text", ods: "spreadsheet", odp: "presentation" } as const;

/** An OpenDocument file with these automatic styles. */
export function odfOf(kind: keyof typeof odfTypes, body: string, styles = "", parts: Parts = {}): Uint8Array {
  const space = (name: string, version = "1.0") => `urn:oasis:names:tc:opendocument:xmlns:${name}:${version}`;
  const names = ["office", "text", "table", "style", "presentation"].map((name) => `xmlns:${name}="${space(name)}"`);
  const spaces = [
    ...names,
    `xmlns:draw="${space("drawing")}"`,
    `xmlns:fo="${space("xsl-fo-compatible")}"`,
    `xmlns:svg="${space("svg-compatible")}"`,
    'xmlns:dc="http://purl.org/dc/elements/1.1/"',
  ].join(" ");
  const type = odfTypes[kind];
  const content = `<office:automatic-styles>${styles}</office:automatic-styles><office:body><office:${type}>${body}</office:${type}></office:body>`;
  return zipOf({
    mimetype: `application/vnd.oasis.opendocument.${type}`,
    "content.xml": `${head}<office:document-content ${spaces}>${content}</office:document-content>`,
    ...parts,
  });
}
