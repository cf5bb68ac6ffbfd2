import { describe, expect, test } from "bun:test";
import { newContentOf } from "../../src/extract/extract.ts";
import { type ReplyRow, replyFiles, replyRows } from "./reply-corpus.ts";

const rows = replyRows(replyFiles);

describe("the new part of a mail", () => {
  const named = rows.map((row): [name: string, row: ReplyRow] => [`${row.file}: ${row.name}`, row]);

  test.each(named.filter(([, { miss }]) => miss === undefined))("%s", (_, row) => {
    const { extractedText, extractedHtml } = newContentOf(row);
    expect(extractedText).toBe(row.newText);
    if (row.newHtml !== undefined) expect(extractedHtml).toBe(row.newHtml);
  });

  test.each(named.filter(([, { miss }]) => miss !== undefined))("missed, with words: %s", (_, row) => {
    const { extractedText } = newContentOf(row);
    // A row with a right result must not be marked as a miss.
    expect(extractedText).not.toBe(row.newText);
    expect(extractedText.trim()).not.toBe("");
  });

  test("the collection is large, has all languages, and nearly all results are right", () => {
    const right = rows.filter(({ miss }) => miss === undefined);
    expect(rows.length).toBeGreaterThanOrEqual(150);
    expect(right.length / rows.length).toBeGreaterThanOrEqual(0.95);
    expect(new Set(rows.map(({ file, name }) => `${file}: ${name}`)).size).toBe(rows.length);
  });
});
