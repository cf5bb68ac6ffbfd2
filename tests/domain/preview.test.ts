import { expect, test } from "bun:test";
import { previewOf } from "../../src/domain/preview.ts";

const previews: [what: string, text: string, preview: string][] = [
  ["nothing", "", ""],
  ["a short text as it is", "Hello Ada", "Hello Ada"],
  ["lines on one line", "  Hello\r\n\r\n\tAda \n", "Hello Ada"],
  ["200 characters whole", "x".repeat(200), "x".repeat(200)],
  ["the beginning of a long text", "x".repeat(201), `${"x".repeat(199)}…`],
  ["no blank before the end", `${"x".repeat(198)} ${"y".repeat(20)}`, `${"x".repeat(198)}…`],
  ["characters, not UTF-16 units", "😀".repeat(200), "😀".repeat(200)],
  ["words behind many blank lines", `${"\n".repeat(700)}Hello Ada`, "Hello Ada"],
  ["no half of a character", `${" ".repeat(599)}😀${" ".repeat(3398)}😀`, "😀"],
];
test.each(previews)("a preview shows %s", (_, text, preview) => {
  expect(previewOf(text)).toBe(preview);
  expect(preview.isWellFormed()).toBe(true);
});
