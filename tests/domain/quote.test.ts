import { describe, expect, test } from "bun:test";
import { attributionLine, type QuotedMessage, replySubject, withTextQuote } from "../../src/domain/quote.ts";
import { foreignAncestors, replyReferences } from "../../src/domain/threading.ts";
import { cpuMs } from "../support/cpu.ts";

const previous: QuotedMessage = {
  from: { name: "Jane Doe", address: "jane@example.com" },
  at: new Date("2026-03-03T14:05:59.999Z"),
  bodyText: "first line\nsecond line\n> what was already quoted",
  bodyHtml: undefined,
};

test("a reply carries the previous message under one attribution line", () => {
  expect(withTextQuote("Thanks!", previous)).toBe(
    [
      "Thanks!",
      "",
      "On Tue, 3 Mar 2026 at 14:05 UTC, Jane Doe <jane@example.com> wrote:",
      "> first line",
      "> second line",
      ">> what was already quoted",
    ].join("\n"),
  );
});

describe("the attribution", () => {
  const rows: readonly [says: string, from: QuotedMessage["from"], writer: string][] = [
    ["without a name is the bare address", { address: "jane@example.com" }, "jane@example.com"],
    ["with an empty name is the bare address", { name: " ", address: "jane@example.com" }, "jane@example.com"],
    ["with the address as name says it once", { name: "j@e.com", address: "j@e.com" }, "j@e.com"],
    ["keeps any script", { name: "Ольга 田中 👩‍💻", address: "o@e.com" }, "Ольга 田中 👩‍💻 <o@e.com>"],
    ["stays on one line", { name: "Jane\r\n> x\u2028y\u0085z", address: "j@e.com\r\nx" }, "Jane x y z <j@e.comx>"],
    [
      "turns no direction",
      { name: "\u202Emoc.live\u202C \u2066x\u2069", address: "j@\u200Fe.com" },
      "moc.live x <j@e.com>",
    ],
    [
      "shows no other address than the real one",
      { name: "Boss <boss@e.com>", address: "j@e.com" },
      "Boss boss@e.com <j@e.com>",
    ],
    ["cuts an endless name", { name: "x".repeat(10_000), address: "j@e.com" }, `${"x".repeat(200)} <j@e.com>`],
    ["of nobody says so", undefined, "someone"],
  ];
  test.each(rows)("%s", (_says, from, writer) => {
    expect(attributionLine({ ...previous, from })).toBe(`On Tue, 3 Mar 2026 at 14:05 UTC, ${writer} wrote:`);
  });
});

describe("the quote", () => {
  const quoteOf = (bodyText: string) =>
    withTextQuote("x", { ...previous, bodyText })
      .split("\n")
      .slice(3);

  const rows: readonly [says: string, bodyText: string, quote: string[]][] = [
    ["marks each line", "a\nb", ["> a", "> b"]],
    ["reads any line end", "a\r\nb\rc", ["> a", "> b", "> c"]],
    [
      "lets nothing out by the line ends of Unicode",
      "a\u2028b\u2029c\u0085d\ve\ff",
      ["> a", "> b", "> c", "> d", "> e", "> f"],
    ],
    ["has a bare > for a blank line", "a\n\n \t\nb", ["> a", ">", ">", "> b"]],
    ["deepens what was quoted", "> a\n>> b\n>c\n>", [">> a", ">>> b", ">>c", ">>"]],
    ["loses blank lines at the end", "a\n\n\n", ["> a"]],
    ["of nothing is one blank line", "", [">"]],
    ["holds no NUL", "a\0b", ["> a\uFFFDb"]],
  ];
  test.each(rows)("%s", (_says, bodyText, quote) => {
    expect(quoteOf(bodyText)).toEqual(quote);
  });

  test("of exactly 102,400 bytes is whole, of one more is cut", () => {
    expect(quoteOf(`${"x".repeat(102_398)}`)).toEqual([`> ${"x".repeat(102_398)}`]);
    expect(quoteOf(`${"x".repeat(102_399)}`)).toEqual([`> ${"x".repeat(102_390)}`, "> [...]"]);
  });

  test("is cut between characters, counted in bytes of UTF-8", () => {
    const lines = quoteOf("😀".repeat(200_000));
    expect(lines).toEqual([`> ${"😀".repeat(25_597)}`, "> [...]"]);
    expect(Buffer.byteLength(lines.join("\n"))).toBeLessThanOrEqual(102_400);
  });

  test("is cut without a broken line before the mark", () => {
    const lines = quoteOf("ab\n".repeat(100_000));
    expect(lines.at(-1)).toBe("> [...]");
    expect(lines.slice(0, -1).every((line) => line === "> ab" || line === "> a")).toBe(true);
  });

  test("of 20 MB is made at once", () => {
    const startMs = cpuMs();
    quoteOf("\n> ".repeat(7_000_000));
    expect(cpuMs() - startMs).toBeLessThan(2_000);
  });

  test("follows the caller's text after one blank line, with any line breaks at its end", () => {
    expect(withTextQuote("x\r\n\n", previous).split("\n").slice(0, 3)).toEqual(["x", "", attributionLine(previous)]);
  });
});

describe("the subject of a reply", () => {
  const rows: readonly [subject: string, reply: string][] = [
    ["Hello", "Re: Hello"],
    ["Re: Hello", "Re: Hello"],
    ["RE: Hello", "RE: Hello"],
    ["re:Hello", "re:Hello"],
    [" Hello ", "Re: Hello"],
    ["Regards", "Re: Regards"],
    ["", "Re:"],
    ["a\r\nBcc: x@y", "Re: a Bcc: x@y"],
    ["😀".repeat(998), `Re: ${"😀".repeat(994)}`],
  ];
  test.each(rows)("of %p is %p", (subject, reply) => {
    expect(replySubject(subject)).toBe(reply);
  });
});

describe("the References of a reply", () => {
  const ids = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => `${from + index}@e.com`);

  const rows: readonly [says: string, thread: string[], references: string[], answered?: string[]][] = [
    ["are none of an empty thread", [], []],
    ["are the thread, oldest first", ids(1, 3), ids(1, 3)],
    ["hold no double", ["a", "b", "a", "c", "b"], ["a", "b", "c"]],
    ["are all of a hundred", ids(1, 100), ids(1, 100)],
    ["are the first and the last 99 of more", ids(1, 101), [...ids(1, 1), ...ids(3, 101)]],
    ["count each id once before they are cut", [...ids(1, 100), ...ids(1, 100)], ids(1, 100)],
    ["end with the answered message", ids(1, 5), [...ids(1, 1), ...ids(3, 5), "2@e.com"], ["2@e.com"]],
    ["end with all names of it", ["a", "b", "b-wire", "c"], ["a", "c", "b", "b-wire"], ["b", "b-wire"]],
    ["keep both ends of more than a hundred", ids(1, 200), [...ids(1, 1), ...ids(103, 200), "2@e.com"], ["2@e.com"]],
  ];
  test.each(rows)("%s", (_says, thread, references, answered = []) => {
    expect(replyReferences(thread, answered)).toEqual(references);
  });

  test("begin with the ids that the first mail of the thread names, shortened to both ends if they are many", () => {
    expect(foreignAncestors({ inReplyTo: [], references: [] })).toBeUndefined();
    expect(foreignAncestors({ inReplyTo: ["b"], references: ["a", "b"] })).toEqual(["a", "b"]);
    expect(foreignAncestors({ inReplyTo: ["b"], references: [] })).toEqual(["b"]);
    expect(foreignAncestors({ inReplyTo: ["x".repeat(999)], references: ids(1, 60) })).toEqual([
      ...ids(1, 1),
      ...ids(12, 60),
    ]);
  });
});
