import { expect, test } from "bun:test";
import { type PptxSlide, pptxOf, shape } from "../../support/documents/office.ts";
import { textIn } from "../../support/documents/read.ts";

const colored = (text: string, inside: string) => `<a:r><a:rPr>${inside}</a:rPr><a:t>${text}</a:t></a:r>`;
const fill = (color: string) => `<a:solidFill><a:srgbClr val="${color}"/></a:solidFill>`;
const table = (rows: string[][]) =>
  `<p:graphicFrame><a:tbl>${rows.map((cells) => `<a:tr>${cells.map((words) => `<a:tc><a:txBody><a:p><a:r><a:t>${words}</a:t></a:r></a:p></a:txBody></a:tc>`).join("")}</a:tr>`).join("")}</a:tbl></p:graphicFrame>`;
const placeholder = (type: string) => `<p:cNvPr id="3" name="b"/><p:nvPr><p:ph type="${type}"/></p:nvPr>`;

test.each<[about: string, slides: PptxSlide[], text: string, pages?: number[]]>([
  ["paragraphs are lines", [{ shapes: shape(["Title"]) + shape(["One", "Two"]) }], "Title\nOne\nTwo"],
  ["each slide is a page", [{ shapes: shape(["One"]) }, { shapes: shape(["Two"]) }], "One\n\nTwo", [0, 5]],
  [
    "notes follow their slide, without its number",
    [
      {
        shapes: shape(["One"]),
        notes: shape(["Say hello"], placeholder("body")) + shape(["1"], placeholder("sldNum")),
      },
      { shapes: shape(["Two"]) },
    ],
    "One\n\nSay hello\n\nTwo",
    [0, 16],
  ],
  ["text that was added to notes follows, too", [{ shapes: shape(["One"]), notes: shape(["Added"]) }], "One\n\nAdded"],
  ["hidden slides are left out", [{ shapes: shape(["Gone"]), isHidden: true }, { shapes: shape(["Two"]) }], "Two"],
  [
    "hidden shapes are left out, with what is in their group",
    [
      {
        shapes: `<p:grpSp><p:nvGrpSpPr><p:cNvPr id="4" name="g" hidden="1"/></p:nvGrpSpPr>${shape(["Gone"])}</p:grpSp>${shape(["Here"])}`,
      },
    ],
    "Here",
  ],
  [
    "rows of a table are lines of cells",
    [
      {
        shapes: table([
          ["Item", "Price"],
          ["Tea", "3"],
        ]),
      },
    ],
    "Item\tPrice\nTea\t3",
  ],
  [
    "breaks and fields are text",
    [{ shapes: shape(['<a:r><a:t>a</a:t></a:r><a:br/><a:fld type="slidenum"><a:t>7</a:t></a:fld>']) }],
    "a\n7",
  ],
  [
    "words of their highlight's colour are left out",
    [
      {
        shapes: shape([
          colored("a", "") + colored("gone", `${fill("FF0000")}<a:highlight><a:srgbClr val="FF0000"/></a:highlight>`),
        ]),
      },
    ],
    "a",
  ],
  [
    "words of their shape's colour are left out",
    [{ shapes: shape([colored("a", fill("FFFFFF")) + colored("gone", fill("336699"))], undefined, fill("336699")) }],
    "a",
  ],
  [
    "the colour of a border hides nothing",
    [{ shapes: shape([colored("a", fill("336699"))], undefined, `<a:ln>${fill("336699")}</a:ln>`) }],
    "a",
  ],
])("pptx: %s", async (_about, slides, text, pages = [0]) => {
  expect(await textIn("a.pptx", pptxOf(slides))).toEqual({ kind: "pptx", text, pages, truncated: false });
});
