import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fastHead } from "../../../src/mail/read/fast-head.ts";
import { readHead } from "../../../src/mail/read/head.ts";
import { cpuMs } from "../../support/cpu.ts";

/** The result of the full reader for the same header. */
function fullyRead(head: string): object {
  return readHead(Buffer.from(head), []).listed;
}

describe("the head of a machine's mail", () => {
  const rows: [string, string][] = [
    [
      "as usual",
      "From: Jane Doe <jane@example.com>\r\nTo: ada@inbox.localhost\r\nSubject: Hi, all\r\nMessage-ID: <a@b>\r\n",
    ],
    ["an address in brackets alone", "From: <jane@example.com>\r\n"],
    [
      "several addresses, in several fields",
      "To: a@x.example, B C <b@x.example>\r\nto: <c@x.example>\r\nCC: d@x.example\r\n",
    ],
    ["several senders", "From: a@x.example, b@x.example\r\n"],
    ["a field that comes twice", "Subject: one\r\nFrom: a@x.example\r\nSubject: two\r\nFrom: b@x.example\r\n"],
    [
      "an empty field before another",
      "Subject:\r\nSubject: two\r\nFrom:\r\nFrom: b@x.example\r\nTo: \r\nTo: c@x.example\r\n",
    ],
    ["folded", "References: <a@x.example>\r\n <b@x.example>\r\n\t<c@x.example>\r\nSubject:\r\n \tlate  \r\n"],
    ["much white space", "Subject: \t a  b \t \r\nFrom:a@x.example\r\n"],
    [
      "fields that don't count, whatever they hold",
      'X-Odd: =?utf-8?q?=C3=A4?= "(<\r\nReceived: from a (b) by c; now\r\nFrom: a@x.example\r\n',
    ],
    [
      "signs of a robot, folded, twice, empty, with comments, parameters and encoded words",
      'auto-submitted:\r\nAuto-Submitted: Auto-Replied (x); a=b\r\nAUTO-SUBMITTED: no\r\nList-Id: =?utf-8?q?a?=\r\n <A.b>\r\nX-Autoreply: "(\r\n',
    ],
    ["nothing", ""],
    ["the empty line along", "Subject: one\r\n\r\n"],
    ["a colon in the subject", "Subject: Re: [x] 10:30\r\n"],
  ];
  test.each(rows)("%s is read as in full", (_, head) => {
    const read = fastHead(head);
    expect(read).toBeDefined();
    expect<object | undefined>(read).toEqual(fullyRead(head));
  });

  test.each([
    ["an encoded word", "Subject: =?utf-8?q?=C3=A4?=\r\n"],
    ["a quoted name", 'From: "Doe, Jane" <jane@example.com>\r\n'],
    ["a comment", "From: jane@example.com (Jane)\r\n"],
    ["a group", "To: undisclosed-recipients:;\r\n"],
    ["no address", "From: Jane\r\n"],
    ["two spaces in a name", "From: Jane  Doe <jane@example.com>\r\n"],
    ["a comma too many", "To: a@x.example,\r\n"],
    ["an address within another's name", "From: a@x.example b <c@x.example>\r\n"],
    ["a line that is no field", "Subject: a\r\nno field\r\nFrom: a@x.example\r\n"],
    ["a line feed by itself", "Subject: a\nb: c\r\n"],
    ["a carriage return by itself", "Subject: a\rb\r\n"],
    ["a carriage return at the end", "References: \r"],
    ["a line feed at the end of a field", "Subject: a\n\r\nFrom: b@x.example\r\n"],
    ["white space before the colon", "Subject : a\r\n"],
    ["a fold before any field", " a\r\nSubject: b\r\n"],
  ])("%s is read in full", (_, head) => {
    expect(fastHead(head)).toBeUndefined();
  });

  test.each([
    ["white space before a line feed", `Subject:${" ".repeat(32_000)}\nx\r\n`],
    ["white space between words", `Subject: a${" ".repeat(32_000)}b${" ".repeat(32_000)}\r\n`],
    ["words where addresses should be", `To: ${"a ".repeat(16_000)}@\r\n`],
    ["an address without an end", `To: <${"a".repeat(32_000)}@${"b.".repeat(16_000)}\r\n`],
    ["commas", `To: ${",".repeat(32_000)}\r\n`],
    ["folds", `Subject: a${"\r\n b".repeat(8_000)}\r\n`],
  ])("a head full of %s takes no longer than its length", (_, head) => {
    fastHead(head);
    const startMs = cpuMs();
    fastHead(head);
    expect(cpuMs() - startMs).toBeLessThan(100);
  });

  test("is read as in full, or left to that", () => {
    const piece = fc.constantFrom(
      "From",
      "to",
      "Cc",
      "REPLY-TO",
      "Subject",
      "Message-Id",
      "In-Reply-To",
      "References",
      "Date",
      "X-A",
      "Content-Type",
      "Auto-Submitted",
      "List-Id",
      "Report-Type",
      ":",
      ": ",
      " ",
      "\t",
      "\r\n",
      "\r\n",
      "\r\n ",
      "\n",
      "\r",
      ",",
      ";",
      "<",
      ">",
      "@",
      ".",
      '"',
      "(",
      ")",
      "=",
      "?",
      "'",
      "\\",
      "a",
      "Jane Doe",
      "a@x.example",
      "<b@x.example>",
      "Jane <j@x.example>",
      "text/html",
      "=?",
      "[",
      "]",
      "0",
      "\x00",
      "\x7f",
    );
    const someHead = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    const mailbox = fc.constantFrom(
      "a@x.example",
      "<a@x.example>",
      "J <a@x.example>",
      "J D <a.b+c@x.example>",
      "",
      " ",
      "J.",
    );
    const value = fc.oneof(
      fc.string({ unit: "grapheme-ascii", maxLength: 30 }),
      fc.array(mailbox).map((all) => all.join(", ")),
      mailbox,
    );
    const name = fc.constantFrom(
      "From",
      "Sender",
      "To",
      "Cc",
      "Reply-To",
      "Subject",
      "Message-ID",
      "In-Reply-To",
      "References",
      "X-A",
      "from",
      "Precedence",
      "X-Auto-Response-Suppress",
    );
    const fold = fc.constantFrom("", "", "\r\n ", "\r\n\t");
    const likelyHead = fc
      .array(fc.tuple(name, fc.constantFrom(": ", ":"), value, fold, value), { maxLength: 6 })
      .map((fields) => fields.map((parts) => `${parts.join("")}\r\n`).join(""));
    let read = 0;
    fc.assert(
      fc.property(fc.oneof(someHead, likelyHead), (head) => {
        const mine = fastHead(head);
        if (mine === undefined) return;
        read += 1;
        expect<object>(mine).toEqual(fullyRead(head));
      }),
      { numRuns: Number(process.env.PLAIN_HEADS ?? 3000) },
    );
    expect(read).toBeGreaterThan(300);
  });
});
