import { describe, expect, test } from "bun:test";
import { extractionOf } from "../../src/extract/extract.ts";
import { newTextOf } from "../../src/extract/reply-text.ts";
import { attributionLines, ownLines, undatedAttributions } from "./attribution-lines.ts";

const languages = Object.entries(attributionLines);

/** The words of a line on lines of at most this many characters. */
function foldedAt(width: number, line: string): string[] {
  const lines: string[] = [];
  for (const word of line.split(" ")) {
    const last = lines.pop();
    if (last === undefined) lines.push(word);
    else if (last.length + 1 + word.length > width) lines.push(last, word);
    else lines.push(`${last} ${word}`);
  }
  return lines;
}

/** An attribution in one line, and as mail programs fold it. */
function foldings(line: string): string[][] {
  const words = line.split(" ");
  const [beforeLast, last = ""] = [words.slice(0, -1).join(" "), words.at(-1)];
  const bracket = line.search(/\(?<[^<]*@/);
  const withinAddress = bracket > 30 ? [[line.slice(0, bracket + 1), line.slice(bracket + 1)]] : [];
  return [[line], ...[60, 66, 72, 76].map((width) => foldedAt(width, line)), [beforeLast, last], ...withinAddress];
}

/** The requested number of lines, with each line once at the end. */
function ownTexts(count: number): string[][] {
  return ownLines.flatMap((lines) => lines.map((_, first) => [...lines.slice(first), ...lines].slice(0, count)));
}

describe("the sender's lines right above an attribution stay, and the quote is removed", () => {
  test.each(languages)("%s", (_, attributions) => {
    const wrong: string[] = [];
    for (const attribution of attributions.flatMap(foldings)) {
      for (const own of [1, 2, 3, 5].flatMap(ownTexts)) {
        for (const quote of ["> quoted\n> more", "quoted\nmore"]) {
          const text = [...own, ...attribution, quote].join("\n");
          if (newTextOf(text, { isReply: true }) !== own.join("\n")) wrong.push(text);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each(undatedAttributions)("%s", (attribution) => {
    const texts = [1, 2, 3, 5].flatMap(ownTexts).map((own) => own.join("\n"));
    const wrong = texts.filter((own) => newTextOf(`${own}\n${attribution}\n> quoted`, { isReply: true }) !== own);
    expect(wrong).toEqual([]);
  });

  test("also with CRLF", () => {
    const own = "Dear all,\r\n\r\nthe price is 4,200 EUR.\r\nPlease pay by Friday.";
    for (const [, attributions] of languages) {
      for (const attribution of attributions) {
        expect(newTextOf(`${own}\r\n${attribution}\r\n> quoted\r\n`, { isReply: true })).toBe(own);
      }
    }
  });

  test("and all languages of the table are tested", async () => {
    const { attributionWords } = await import("../../src/extract/attribution-words.ts");
    expect(Object.keys(attributionLines).toSorted()).toEqual(Object.keys(attributionWords).toSorted());
  });
});

describe("an attribution over several lines is removed whole", () => {
  test.each([
    ["three short lines", "On Nov 21, 2014,\nat 10:18,\nJohn Doe <john@doe.example> wrote:"],
    [
      "a line broken within a long address",
      "On Tue, Apr 29, 2003 at 4:22 PM, The Hiring Engine <\na-really-long-automated-email+1234556@humanresources.example> wrote:",
    ],
    ["Turkish, folded by Gmail", "Ada Bot <ada@mail.test>, 3 Mar 2025 Pzt, 14:05 tarihinde\nşunu yazdı:"],
  ])("%s", (_, attribution) => {
    for (const own of ["Yes.", "Dear all,\n\nthe price is 4,200 EUR.\nPlease pay by Friday.", "At noon\n\nBob"]) {
      for (const quote of ["> quoted", "quoted"]) {
        for (const blank of ["\n", "\n\n"]) {
          expect(newTextOf(`${own}${blank}${attribution}\n${quote}`, { isReply: true })).toBe(own);
        }
      }
    }
  });
});

test("a code in the lines right above an attribution is found, and the one in the quote is not", () => {
  const bodyText =
    "Hi,\nyour login code is 482913.\nOn Dec 15, 2024, at 3:00 PM, John Smith <john@example.com> wrote:\n> your login code is 771204";
  const mail = { direction: "inbound", subject: "Re: Code", bodyText, bodyHtml: null, inReplyTo: null } as const;
  expect(extractionOf(mail).codes.map(({ code }) => code)).toEqual(["482913"]);
});

test("an attribution over three lines above a blockquote is removed from the HTML whole", () => {
  const lines = ["On Nov 21, 2014,", "at 10:18,", "John Doe &lt;john@doe.example&gt; wrote:"];
  const bodyHtml = `<div>Yes.</div>${lines.map((line) => `<div>${line}</div>`).join("")}<blockquote>Noon?</blockquote>`;
  const mail = { direction: "inbound", subject: "Re: Noon", bodyText: "Yes.", bodyHtml, inReplyTo: null } as const;
  expect(extractionOf(mail).extractedHtml).toBe("<div>Yes.</div>");
});

test("a line that only looks like an attribution is the sender's own", () => {
  for (const text of [
    "On Monday he wrote:\nall is well",
    "She wrote on Thu, 20 June 2024 at 14:49:\nall is well",
    "Der Kunde schrieb am Do. 20. Juni 2024 um 14:49:\nalles gut",
    "I moved it to 15:30 on 3 March 2026, as Bob wrote\nand Carol knows",
    "Call me on 3 Mar 2025 at 14:05, bob@example.org\nJohn wrote:\nHello",
  ]) {
    expect(newTextOf(text, { isReply: true })).toBe(text);
  }
});
