import { describe, expect, test } from "bun:test";
import { withTextQuote } from "../../src/domain/quote.ts";
import { newTextOf } from "../../src/extract/reply-text.ts";
import { hasForwardPrefix, hasReplyPrefix } from "../../src/extract/subject-prefixes.ts";

const attribution = "On Tue, 3 Mar 2026 at 14:05, Jane Doe <jane@example.com> wrote:";
const isReply = true;

describe("the new text of a reply", () => {
  test("a reply by this service is cut to its caller's text", () => {
    const at = new Date("2026-03-03T14:05:07Z");
    const writers = [
      { name: "Jane Doe", address: "jane@example.com" },
      { name: "", address: "jane@example.com" },
      { name: "山田 花子: 2026", address: "hanako@example.jp" },
      undefined,
    ];
    for (const from of writers) {
      const quoted = { from, at, bodyText: "Hi\n\n-- \nJane\n> older", bodyHtml: undefined };
      expect(newTextOf(withTextQuote("Here it is.\n\nAda\n", quoted), { isReply })).toBe("Here it is.\n\nAda");
    }
  });

  test("a text without quotes is unchanged, white space included", () => {
    for (const text of ["", " ", "\n\nHello \n\n", "Hello\r\nJane\r\n"])
      expect(newTextOf(text, { isReply })).toBe(text);
  });

  test("lines that end in CRLF are lines", () => {
    expect(newTextOf(`Yes.\r\n\r\n${attribution}\r\n> Noon?\r\n`, { isReply })).toBe("Yes.");
  });

  test("it is never empty while the text is not", () => {
    for (const text of ["-- \nJane", "> Noon?", "Sent from my iPhone", "________________________________\n"]) {
      expect(newTextOf(text, { isReply })).toBe(text);
      expect(newTextOf(text, { isReply: false })).toBe(text);
    }
    expect(newTextOf(`${attribution}\n> Noon?`, { isReply })).toBe(`${attribution}\n> Noon?`);
  });

  test("the text behind the first 64 KiB is unchanged", () => {
    const long = `${"word ".repeat(20)}\n`.repeat(700);
    const text = `${long}${attribution}\n> Noon?\n\n-- \nJane\n`;
    expect(newTextOf(text, { isReply })).toBe(text);
    expect(newTextOf(`Yes.\n\n> Noon?\n\nNo.\n${text}`, { isReply })).toBe(`Yes.\n\nNo.\n${text}`);
  });

  test("unless the window ends within a quote", () => {
    const long = `> ${"word ".repeat(20)}\n`.repeat(700);
    expect(newTextOf(`Yes.\n\n${attribution}\n${long}`, { isReply })).toBe("Yes.");
    expect(newTextOf(`Yes.\n\n${attribution}\n${long.replaceAll("> ", "")}`, { isReply })).toBe("Yes.");
  });

  test("the end of the window splits no character", () => {
    const text = `Yes.\n> Noon?\n${"é".repeat(40_000)}`;
    expect(newTextOf(text, { isReply })).toBe(`Yes.\n\n${"é".repeat(40_000)}`);
  });
});

describe("a subject marks a reply", () => {
  const answers = [
    "Re: x",
    "RE : x",
    "re:x",
    "AW: x",
    "Antw: x",
    "SV: x",
    "RV: x",
    "Re[2]: x",
    "Re(3): x",
    "[list] Re: x",
    "回复：x",
    "回覆: x",
  ];
  test.each([
    ...answers,
    "[EXTERNAL] [list] Odp: x",
    "Ynt: x",
    "Vá: x",
    "Отв: x",
    "ΑΠ: x",
    "RES: x",
    "  Re: x",
    "Re: Fwd: x",
  ])("%s", (subject) => {
    expect(hasReplyPrefix(subject)).toBe(true);
    expect(hasForwardPrefix(subject)).toBe(false);
  });
  const others = ["x", "", "Reminder: x", "Re", "About Re: x", "Report: Re: x", "Order 12: x", "[Re: x", ": Re: x"];
  test.each([...others, "Fwd: Re: x", "WG: x", "转发：x"])("or does not: %s", (subject) => {
    expect(hasReplyPrefix(subject)).toBe(false);
  });
  test.each(["Fwd: x", "FW: Re: x", "WG: x", "转发：x", "[list] TR : x"])("or passes on: %s", (subject) => {
    expect(hasForwardPrefix(subject)).toBe(true);
  });
});
