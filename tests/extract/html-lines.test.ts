import { expect, test } from "bun:test";
import { htmlLines } from "../../src/extract/html-lines.ts";
import { walkHtml } from "../../src/mail/html/html-walk.ts";

const wordsOf = (html: string) => htmlLines(walkHtml(html)).map(({ words }) => words);

test("white space of any kind between words of a line is one space", () => {
  expect(wordsOf("<p>Begin &nbsp;forwarded\u2003\r\n message:</p>")).toEqual(["begin forwarded message:"]);
  expect(wordsOf("<p>Begin\n\n forwarded\v message:</p>")).toEqual(["begin forwarded message:"]);
});
