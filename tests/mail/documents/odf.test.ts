import { expect, test } from "bun:test";
import { odfOf } from "../../support/documents/office.ts";
import { readAs, reasonOf, textIn } from "../../support/documents/read.ts";

const p = (content: string, style = "") => `<text:p text:style-name="${style}">${content}</text:p>`;
const cell = (content: string, attributes = "") => `<table:table-cell ${attributes}>${content}</table:table-cell>`;
const row = (cells: string, attributes = "") => `<table:table-row ${attributes}>${cells}</table:table-row>`;
const table = (content: string, attributes = 'table:name="Sheet1"') =>
  `<table:table ${attributes}>${content}</table:table>`;
const style = (name: string, properties: string, parent = "") =>
  `<style:style style:name="${name}" style:parent-style-name="${parent}">${properties}</style:style>`;
const comment = (text: string) =>
  `<office:annotation><dc:creator>Jane</dc:creator><dc:date>2026-03-21</dc:date>${p(text)}</office:annotation>`;
const frame = (text: string, attributes = "") =>
  `<draw:frame ${attributes}><draw:text-box>${p(text)}</draw:text-box></draw:frame>`;

type Row = [about: string, body: string, text: string, styles?: string];

test.each<Row>([
  ["paragraphs and headings are lines", `<text:h>Title</text:h>${p("One")}${p("Two")}`, "Title\nOne\nTwo"],
  ["white space is as it is shown", p('a\n  b<text:s text:c="2"/>c<text:tab/>d<text:line-break/>e'), "a b  c\td\ne"],
  ["a hostile count of spaces is bounded", p('a<text:s text:c="999999999"/>b'), `a${" ".repeat(80)}b`],
  [
    "rows of a table are lines of cells",
    table(row(cell(p("Item")) + cell(p("Price"))) + row(cell(p("Tea")) + cell(p("3") + p("EUR")))),
    "Item\tPrice\nTea\t3 EUR",
  ],
  [
    "notes are in place, without their numbers",
    p(
      "a<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note</text:p></text:note-body></text:note> b",
    ),
    "a [note: The note] b",
  ],
  ["comments are in place, with their authors", p(`a${comment("Really?")}b`), "a [comment: Jane: Really?]b"],
  [
    "deleted text is left out",
    `<text:tracked-changes><text:deletion>${p("gone")}</text:deletion></text:tracked-changes>${p("a")}`,
    "a",
  ],
  [
    "hidden text is left out",
    p('a<text:span text:style-name="T1">gone</text:span><text:hidden-text>gone</text:hidden-text>b'),
    "ab",
    style("T1", '<style:text-properties text:display="none"/>'),
  ],
  [
    "a style hides what is based on it",
    p('a<text:span text:style-name="T2">gone</text:span>'),
    "a",
    style("T1", '<style:text-properties text:display="none"/>') + style("T2", "", "T1"),
  ],
  [
    "styles that are based on each other end",
    p('<text:span text:style-name="T2">a</text:span>'),
    "a",
    style("T1", "", "T2") + style("T2", "", "T1"),
  ],
  [
    "words of the colour behind them are left out",
    p('a<text:span text:style-name="T1">gone</text:span>'),
    "a",
    style("T1", '<style:text-properties fo:color="#ffffff" fo:background-color="#ffffff"/>'),
  ],
  ["a hidden section is left out", `${p("a")}<text:section text:display="none">${p("gone")}</text:section>`, "a"],
  ["alternative texts of pictures are left out", p("a<draw:frame><svg:title>gone</svg:title></draw:frame>b"), "a\nb"],
])("odt: %s", async (_about, body, text, styles) => {
  expect(await textIn("a.odt", odfOf("odt", body, styles))).toEqual({ kind: "odt", text, pages: [], truncated: false });
});

test.each<Row>([
  ["cells have tabs between them", table(row(cell(p("1")) + cell(p("2.5"))) + row(cell(p("x")))), "Sheet1\n1\t2.5\nx"],
  [
    "each sheet begins with its name",
    table(row(cell(p("1")))) + table(row(cell(p("2"))), 'table:name="Two"'),
    "Sheet1\n1\n\nTwo\n2",
  ],
  [
    "repeated empty cells keep places",
    table(row(cell(p("1")) + cell("", 'table:number-columns-repeated="2"') + cell(p("4")))),
    "Sheet1\n1\t\t\t4",
  ],
  [
    "repeated cells and rows are repeated",
    table(row(cell(p("x"), 'table:number-columns-repeated="2"'), 'table:number-rows-repeated="2"')),
    "Sheet1\nx\tx\nx\tx",
  ],
  [
    "a million empty rows are nothing",
    table(
      row(cell("", 'table:number-columns-repeated="16384"'), 'table:number-rows-repeated="1048576"') +
        row(cell(p("x"))),
    ),
    "Sheet1\nx",
  ],
  [
    "hidden rows are left out",
    table(
      row(cell(p("1"))) +
        row(cell(p("gone")), 'table:visibility="collapse"') +
        row(cell(p("gone")), 'table:visibility="filter"'),
    ),
    "Sheet1\n1",
  ],
  [
    "hidden columns are left out",
    table(
      `<table:table-column/><table:table-column table:number-columns-repeated="2" table:visibility="collapse"/>${row(cell(p("1")) + cell(p("gone")) + cell(p("gone")) + cell(p("4")))}`,
    ),
    "Sheet1\n1\t4",
  ],
  [
    "hidden sheets are left out",
    table(row(cell(p("gone"))), 'table:name="Secret" table:style-name="ta2"') + table(row(cell(p("2")))),
    "Sheet1\n2",
    style("ta2", '<style:table-properties table:display="false"/>'),
  ],
  [
    "comments are in their cells",
    table(row(cell(comment("Really?") + p("1")) + cell(p("2")))),
    "Sheet1\n[comment: Jane: Really?] 1\t2",
  ],
  [
    "covered cells keep places",
    table(row(`${cell(p("1"))}<table:covered-table-cell/>${cell(p("3"))}`)),
    "Sheet1\n1\t\t3",
  ],
])("ods: %s", async (_about, body, text, styles) => {
  expect(await textIn("a.ods", odfOf("ods", body, styles))).toMatchObject({ kind: "ods", text, truncated: false });
});

const page = (content: string, attributes = "") => `<draw:page ${attributes}>${content}</draw:page>`;

test.each<[...Row, pages?: number[]]>([
  ["frames are lines", page(frame("Title") + frame("Words")), "Title\nWords"],
  ["each slide is a page", page(frame("One")) + page(frame("Two")), "One\n\nTwo", "", [0, 5]],
  [
    "notes follow their slide",
    page(`${frame("One")}<presentation:notes>${frame("Say hello")}</presentation:notes>`),
    "One\n\nSay hello",
  ],
  [
    "hidden slides are left out",
    page(frame("Gone"), 'draw:style-name="dp2"') + page(frame("Two")),
    "Two",
    style("dp2", '<style:drawing-page-properties presentation:visibility="hidden"/>'),
  ],
  [
    "paragraphs of a frame are lines",
    page(`<draw:frame><draw:text-box>${p("One")}${p("Two")}</draw:text-box></draw:frame>`),
    "One\nTwo",
  ],
  ["shapes have text", page(`<draw:custom-shape>${p("One")}</draw:custom-shape>`), "One"],
  [
    "hidden words are left out",
    page(`<draw:text-box>${p('a<text:span text:style-name="T1">gone</text:span>')}</draw:text-box>`),
    "a",
    style("T1", '<style:text-properties text:display="none"/>'),
  ],
  [
    "dates, headers and footers of the layout are left out",
    `<presentation:footer-decl>gone</presentation:footer-decl><presentation:date-time-decl>gone</presentation:date-time-decl>${page(frame("a"))}`,
    "a",
  ],
  [
    "alternative texts of pictures are left out",
    page(`<draw:frame><svg:desc>gone</svg:desc></draw:frame>${frame("a")}`),
    "a",
  ],
  ["comments are on their slide", page(`${frame("One")}${comment("Really?")}`), "One\n[comment: Jane: Really?]"],
  [
    "tables are lines of cells",
    page(`<draw:frame>${table(row(cell(p("a")) + cell(p("b"))), "")}</draw:frame>`),
    "a\tb",
  ],
])("odp: %s", async (_about, body, text, styles, pages = [0]) => {
  expect(await textIn("a.odp", odfOf("odp", body, styles))).toEqual({ kind: "odp", text, pages, truncated: false });
});

test("the prefixes of namespaces may be any", async () => {
  const space = "urn:oasis:names:tc:opendocument:xmlns";
  const content = `<o:document-content xmlns:o="${space}:office:1.0" xmlns:x="${space}:text:1.0" xmlns:y="${space}:table:1.0"><x:p>a</x:p><y:table><y:table-row><y:table-cell><x:p>b</x:p></y:table-cell><y:table-cell><x:p>c</x:p></y:table-cell></y:table-row></y:table></o:document-content>`;
  expect((await textIn("a.odt", odfOf("odt", "", "", { "content.xml": content }))).text).toBe("a\nb\tc");
});

test("encrypted OpenDocument files are told by their manifest", async () => {
  const manifest = { "META-INF/manifest.xml": "<manifest:encryption-data/>" };
  expect(reasonOf(await readAs("a.odt", odfOf("odt", p("a"), "", manifest)))).toBe("encrypted");
});
