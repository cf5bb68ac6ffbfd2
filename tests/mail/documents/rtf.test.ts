import { expect, test } from "bun:test";
import { readAs, reasonOf, textIn } from "../../support/documents/read.ts";

const fonts = "{\\fonttbl{\\f0 Arial;}{\\f1\\fcharset204 Times;}{\\f2\\fcharset128 Mincho;}}";
const colors = "{\\colortbl;\\red255\\green255\\blue255;\\red0\\green0\\blue0;\\red255\\green255\\blue0;}";

test.each<[about: string, body: string, text: string]>([
  ["paragraphs are lines", "One\\par\nTwo", "One\nTwo"],
  ["control words end at their space", "a\\b b\\b0  c", "ab c"],
  ["braces and backslashes can be text", "\\{a\\}\\\\", "{a}\\"],
  ["octets are of the page of the document", "caf\\'e9 \\'80", "café €"],
  ["octets are of the page of their font", "{\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2}", "Привет"],
  ["a letter can have two octets", "{\\f2 \\'93\\'fa\\'96\\'7b}", "日本"],
  ["characters of Unicode replace their fallback", "\\u26085?\\uc2\\u26412\\'96\\'7b!", "日本!"],
  ["a character beyond the first plane has two units", "\\u-10179?\\u-8704?", "😀"],
  ["signs have words", "\\ldblquote a\\rdblquote\\emdash b\\~c\\tab d\\line e", "“a”—b\u00a0c\td\ne"],
  [
    "rows of a table are lines of cells",
    "\\trowd\\intbl Item\\cell Price\\cell\\row\\trowd\\intbl Tea\\par green\\cell 3\\cell\\row\\pard After",
    "Item\tPrice\nTea green\t3\nAfter",
  ],
  ["notes are in place", "a{\\footnote\\pard The note}b", "a [note: The note]b"],
  ["comments are in place", "a{\\*\\atnauthor Jane}{\\*\\annotation Really?}b", "a [comment: Really?]b"],
  ["hidden text is left out", "a{\\v gone}\\v gone\\v0 b", "ab"],
  ["deleted text is left out", "a{\\deleted gone}b", "ab"],
  ["white words on white paper are left out", "a{\\cf1 gone}b", "ab"],
  ["words of the colour behind them are left out", "a{\\cf3\\highlight3 gone}{\\cf3\\highlight2 b}", "ab"],
  [
    "headers, pictures, fields and unknown groups are left out",
    "{\\header gone}{\\pict 0000}{\\*\\generator gone}{\\field{\\*\\fldinst HYPERLINK x}{\\fldrslt a}}{\\*\\unknown gone}",
    "a",
  ],
  ["binary data is no text", "a{\\pict\\bin4 }}{{}b", "ab"],
  ["groups need not be closed", "{{{a", "a"],
])("rtf: %s", async (_about, body, text) => {
  const file = `{\\rtf1\\ansi\\ansicpg1252\\deff0${fonts}${colors}\\pard ${body}}`;
  expect(await textIn("a.rtf", file)).toEqual({ kind: "rtf", text, pages: [], truncated: false });
});

test("a file that is only named so is damaged", async () => {
  expect(reasonOf(await readAs("a.rtf", "no rtf"))).toBe("damaged");
});
