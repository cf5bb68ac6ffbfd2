import { expect, test } from "bun:test";
import { join } from "node:path";
import { newContentOf } from "../../src/extract/extract.ts";
import { haveForeignTools, howToInstall } from "../support/foreign-tools.ts";
import { type ReplyRow, replyFiles, replyRows } from "./reply-corpus.ts";

const areInstalled = haveForeignTools();
if (!areInstalled) console.log(`Skipped: two libraries that cut replies, whose packages are not here; ${howToInstall}`);

const rows = replyRows(replyFiles);

/** The comparison ignores white space. */
const share = (newText: (row: ReplyRow) => string): number =>
  rows.filter((row) => words(newText(row)) === words(row.newText)).length / rows.length;
const words = (text: string) => text.replaceAll(/\s+/g, " ").trim();

test.skipIf(!areInstalled)("more of the collection comes out right than by the libraries made for it", async () => {
  const ours = share((row) => newContentOf(row).extractedText);
  const { replyParsers } = await import(join(import.meta.dir, "../foreign-tools/reply-parsers.ts"));
  const theirs = Object.entries(replyParsers as Record<string, (text: string) => string>).map(
    ([name, parse]): [string, number] => [name, share(({ bodyText }) => parse(bodyText))],
  );
  expect(theirs.map(([name]) => name)).toEqual(["email-reply-parser", "planer"]);
  expect(ours).toBeGreaterThanOrEqual(0.95);
  for (const [, their] of theirs) {
    // The other parsers are installed and work.
    expect(their).toBeGreaterThan(0.2);
    expect(their).toBeLessThan(ours);
  }
});
