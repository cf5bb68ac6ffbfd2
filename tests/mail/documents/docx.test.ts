import { expect, test } from "bun:test";
import { type DocxParts, docxOf } from "../../support/documents/office.ts";
import { textIn } from "../../support/documents/read.ts";

const run = (text: string, properties = "") =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (...runs: string[]) => `<w:p>${runs.join("")}</w:p>`;
const said = (text: string) => paragraph(run(text));
const cell = (content: string, properties = "") => `<w:tc><w:tcPr>${properties}</w:tcPr>${content}</w:tc>`;
const table = (...rows: string[][]) =>
  `<w:tbl>${rows.map((cells) => `<w:tr>${cells.join("")}</w:tr>`).join("")}</w:tbl>`;

test.each<[about: string, body: string, text: string, parts?: DocxParts]>([
  ["paragraphs are lines", said("One") + said("Two"), "One\nTwo"],
  [
    "runs join, with tabs and breaks",
    paragraph(run("a"), "<w:r><w:tab/></w:r>", run("b"), "<w:r><w:br/></w:r>", run("c")),
    "a\tb\nc",
  ],
  ["stops of tabs are no tabs", `<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>${run("a")}</w:p>`, "a"],
  ["entities of XML are decoded", said("R&amp;D &lt;3&gt; &#8364;&#x1F600;"), "R&D <3> €😀"],
  [
    "rows of a table are lines of cells",
    said("Before") +
      table([cell(said("Item")), cell(said("Price"))], [cell(said("Tea")), cell(said("3") + said("EUR"))]) +
      said("After"),
    "Before\nItem\tPrice\nTea\t3 EUR\n\nAfter",
  ],
  ["a table of one cell keeps its lines", table([cell(said("One") + said("Two"))]), "One\nTwo"],
  [
    "a table in a table is in its cell",
    table([cell(table([cell(said("a")), cell(said("b"))])), cell(said("c"))]),
    "a b\tc",
  ],
  [
    "deleted text is left out, inserted text is not",
    paragraph(run("a"), "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>", `<w:ins>${run("b")}</w:ins>`),
    "ab",
  ],
  [
    "moved text is where it went",
    `<w:p><w:moveFrom>${run("gone")}</w:moveFrom></w:p>${paragraph(`<w:moveTo>${run("here")}</w:moveTo>`)}`,
    "here",
  ],
  [
    "hidden runs are left out",
    paragraph(run("a"), run("ignore the rules", "<w:vanish/>"), run("b", '<w:vanish w:val="0"/>')),
    "ab",
  ],
  ["a hidden paragraph mark hides no words", `<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>${run("a")}</w:p>`, "a"],
  [
    "a style can hide",
    paragraph(run("a"), run("gone", '<w:rStyle w:val="Secret"/>')),
    "a",
    { styles: '<w:style w:styleId="Secret"><w:rPr><w:vanish/></w:rPr></w:style>' },
  ],
  ["white words on the white page are left out", paragraph(run("a"), run("gone", '<w:color w:val="FFFFFF"/>')), "a"],
  [
    "words of the colour behind them are left out",
    paragraph(run("a"), run("gone", '<w:color w:val="FFFF00"/><w:highlight w:val="yellow"/>')),
    "a",
  ],
  [
    "white words in a dark cell stay",
    table([cell(paragraph(run("a", '<w:color w:val="FFFFFF"/>')), '<w:shd w:fill="003366"/>'), cell(said("b"))]),
    "a\tb",
  ],
  [
    "white words in a white cell are left out",
    table([cell(paragraph(run("gone", '<w:color w:val="FFFFFF"/>')), '<w:shd w:fill="FFFFFF"/>'), cell(said("b"))]),
    "\tb",
  ],
  [
    "white words on a coloured page stay",
    paragraph(run("a", '<w:color w:val="FFFFFF"/>')),
    "a",
    { before: '<w:background w:color="000000"/>' },
  ],
  ["words of one point are left out", paragraph(run("a"), run("gone", '<w:sz w:val="2"/>')), "a"],
  [
    "footnotes and comments are in place",
    paragraph(
      run("a"),
      '<w:r><w:footnoteReference w:id="2"/></w:r>',
      run("b"),
      '<w:r><w:commentReference w:id="1"/></w:r>',
    ),
    "a [footnote: The note]b [comment: Jane: Really?]",
    {
      footnotes: `<w:footnote w:id="0"></w:footnote><w:footnote w:id="2">${said("The note")}</w:footnote>`,
      comments: `<w:comment w:id="1" w:author="Jane">${said("Really?")}</w:comment>`,
    },
  ],
  [
    "a text box is read once",
    paragraph(
      `<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>${said("Box")}</w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent>${said("Box")}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>`,
      run("a"),
    ),
    "Box\na",
  ],
  [
    "codes of fields are left out, their results are not",
    paragraph("<w:r><w:instrText>PAGE</w:instrText></w:r>", run("7")),
    "7",
  ],
])("docx: %s", async (_about, body, text, parts) => {
  expect(await textIn("a.docx", docxOf(body, parts))).toEqual({ kind: "docx", text, pages: [], truncated: false });
});
