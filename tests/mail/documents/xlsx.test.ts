import { expect, test } from "bun:test";
import { type XlsxSheet, xlsxOf } from "../../support/documents/office.ts";
import { textIn } from "../../support/documents/read.ts";

const number = (reference: string, value: number | string, style = 0) =>
  `<c r="${reference}" s="${style}"><v>${value}</v></c>`;
const text = (reference: string, words: string) => `<c r="${reference}" t="inlineStr"><is><t>${words}</t></is></c>`;
const row = (cells: string, attributes = "") => `<row ${attributes}>${cells}</row>`;
const sheet = (rows: string, before = "", more: Partial<XlsxSheet> = {}): XlsxSheet => ({
  name: "Sheet1",
  data: `${before}<sheetData>${rows}</sheetData>`,
  ...more,
});

const styles = `<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm"/><numFmt numFmtId="165" formatCode="&quot;EUR&quot; #,##0.00"/><numFmt numFmtId="166" formatCode=";;;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>${[0, 14, 164, 9, 165, 166, 21].map((id) => `<xf numFmtId="${id}"/>`).join("")}</cellXfs>`;

test.each<[about: string, sheets: XlsxSheet[], wanted: string, parts?: Parameters<typeof xlsxOf>[1]]>([
  [
    "cells have tabs between them",
    [sheet(row(number("A1", 1) + number("B1", 2.5)) + row(text("A2", "x")))],
    "Sheet1\n1\t2.5\nx",
  ],
  ["empty cells keep their place", [sheet(row(number("A1", 1) + number("D1", 4)))], "Sheet1\n1\t\t\t4"],
  ["cells without references follow each other", [sheet(row("<c><v>1</v></c><c><v>2</v></c>"))], "Sheet1\n1\t2"],
  [
    "shared strings are found, without readings",
    [sheet(row('<c r="A1" t="s"><v>1</v></c>'))],
    "Sheet1\n東京 city",
    { strings: "<si><t>no</t></si><si><r><t>東京</t></r><rPh><t>トウキョウ</t></rPh><r><t> city</t></r></si>" },
  ],
  ["breaks in a cell are spaces", [sheet(row(text("A1", "a&#10;b_x000D_\tc") + number("B1", 1)))], "Sheet1\na b c\t1"],
  [
    "dates, times and percents are as people read them",
    [
      sheet(
        row(
          [1, 2, 3, 4, 6]
            .map((style, index) =>
              number(`${"ABCDE"[index]}1`, [46_102, 46_102.5, 0.075, 1234.5, 0.75][index] ?? 0, style),
            )
            .join(""),
        ),
      ),
    ],
    "Sheet1\n2026-03-21\t2026-03-21 12:00:00\t7.5%\t1234.5\t18:00:00",
    { styles },
  ],
  [
    "days can count from 1904",
    [sheet(row(number("A1", 44_640, 1)))],
    "Sheet1\n2026-03-21",
    { styles, book: '<workbookPr date1904="1"/>' },
  ],
  ["a format that shows nothing hides", [sheet(row(number("A1", 1) + number("B1", 666, 5)))], "Sheet1\n1", { styles }],
  [
    "results of formulas are shown, not the formulas",
    [
      sheet(
        row(
          '<c r="A1" t="str"><f>A2&amp;"x"</f><v>yes</v></c><c r="B1" t="b"><v>1</v></c><c r="C1" t="e"><v>#N/A</v></c>',
        ),
      ),
    ],
    "Sheet1\nyes\tTRUE\t#N/A",
  ],
  ["digits behind a double are rounded", [sheet(row(number("A1", "0.30000000000000004")))], "Sheet1\n0.3"],
  [
    "hidden rows and columns are left out",
    [
      sheet(
        row(number("A1", 1) + number("B1", 2) + number("C1", 3)) + row(number("A2", 666), 'hidden="1"'),
        '<cols><col min="2" max="2" hidden="1"/></cols>',
      ),
    ],
    "Sheet1\n1\t3",
  ],
  [
    "hidden sheets are left out",
    [
      sheet(row(number("A1", 1))),
      sheet(row(number("A1", 666)), "", { name: "Secret", state: "hidden" }),
      sheet(row(number("A1", 2)), "", { name: "Last" }),
    ],
    "Sheet1\n1\n\nLast\n2",
  ],
  [
    "comments stand behind their cells",
    [
      sheet(row(number("A1", 1) + number("B1", 2)), "", {
        comments:
          '<authors><author>Jane</author></authors><commentList><comment ref="A1"><text><r><t>Really&#10;</t></r><r><t>one?</t></r></text></comment></commentList>',
      }),
    ],
    "Sheet1\n1 [comment: Really one?]\t2",
  ],
])("xlsx: %s", async (_about, sheets, wanted, parts) => {
  expect(await textIn("a.xlsx", xlsxOf(sheets, parts))).toMatchObject({ kind: "xlsx", text: wanted, truncated: false });
});

test("xlsx: each sheet is a page", async () => {
  const sheets = ["One", "🎉", "Three"].map((name) => sheet(row(number("A1", 1)), "", { name }));
  const { text: whole, pages } = await textIn("a.xlsx", xlsxOf(sheets));
  expect(pages).toEqual([0, 7, 12]);
  expect([...whole].slice(12).join("")).toBe("Three\n1");
});
