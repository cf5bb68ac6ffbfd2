import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { textIn } from "../../support/documents/read.ts";
import { wordsOf } from "../../support/documents/words.ts";

const letter = `Invoice 118
Dear Ms Müller, the parcel left on Monday and is on its way to you, as agreed last week. It weighs 12.5 kg.
First the office of the finance department
Second the affluent traffic flow
Item Price
Green tea 3 EUR
Coffee 4 EUR
Здравствуйте. Ευχαριστώ. With kind regards, Jane`;
const sheet = "table\nName\tAmount\tShare\nMüller\t12.5\t0.25\nDoe, Jane\t7\t0.75\nTotal\t19.5\t1";
const slides = "Plan of the year\nGröße and Überblick\nThree offices\n\nSay hello first\n\nSecond slide";

/** Files that LibreOffice 7.4 made of one letter, one table and two slides with a note. */
test.each([
  ["letter.odt", letter],
  ["letter.docx", letter],
  ["letter.rtf", letter],
  ["letter.pdf", letter],
  ["table.ods", sheet],
  ["table.xlsx", sheet],
  ["slides.odp", slides],
  ["slides.pptx", slides],
])("LibreOffice's %s has its words in order", async (name, text) => {
  const { text: seen } = await textIn(name, readFileSync(join(import.meta.dir, "libreoffice", name)));
  expect(wordsOf(seen)).toEqual(wordsOf(text));
});
