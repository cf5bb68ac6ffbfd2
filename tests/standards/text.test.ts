import { describe, expect, test } from "bun:test";
import {
  cleanText,
  codePointLength,
  isCleanText,
  oneLine,
  truncateCodePoints,
  truncateUtf8,
  utf8Length,
  withLineFeeds,
  withoutControls,
} from "../../src/standards/text.ts";
import { cpuMs } from "../support/cpu.ts";

describe("clean text can be stored", () => {
  test.each([
    ["plain text stays", "Grüße 👋", "Grüße 👋"],
    ["NUL becomes the replacement character", "a\0b\0", "a\ufffdb\ufffd"],
    ["a lone high surrogate too", "a\ud83d", "a\ufffd"],
    ["a lone low surrogate too", "\udc4bz", "\ufffdz"],
    ["line breaks stay", "a\r\nb\n", "a\r\nb\n"],
  ])("%s", (_what, text, clean) => {
    expect(cleanText(text)).toBe(clean);
    expect(isCleanText(cleanText(text))).toBe(true);
    expect(isCleanText(text)).toBe(text === clean);
  });
});

describe("one line holds no control character", () => {
  test.each([
    ["a header smuggled into a subject", "Hi\r\nBcc: eve@example.com", "Hi Bcc: eve@example.com"],
    ["Unicode's own line breaks", "a\u2028b\u2029c", "a b c"],
    ["an escape sequence", "\u001b[31mred", "[31mred"],
    ["tabs of a folded header", "one\t\ttwo", "one two"],
    ["NUL is shown, not lost", "a\0b", "a\ufffdb"],
    ["space within stays", " a  b ", "a  b"],
  ])("%s", (_what, text, line) => expect(oneLine(text)).toBe(line));
});

describe("lines end in a line feed", () => {
  test.each([
    ["of Unix", "a\nb\n", "a\nb\n"],
    ["of mail", "a\r\n\r\nb", "a\n\nb"],
    ["of an old Macintosh", "a\rb", "a\nb"],
    ["of a relay that doubled the CR", "a\r\r\nb", "a\nb"],
    ["of all kinds", "a\rb\r\nc\nd", "a\nb\nc\nd"],
  ])("%s", (_what, text, lines) => expect(withLineFeeds(text)).toBe(lines));

  test("a megabyte of CR takes no quadratic time", () => {
    const startMs = cpuMs();
    expect(withLineFeeds(`${"\r".repeat(1024 * 1024)}x`)).toBe("\nx");
    expect(cpuMs() - startMs).toBeLessThan(500);
  });
});

test("of the control characters tab and line feed stay", () => {
  const controls = String.fromCharCode(...Array.from({ length: 31 }, (_, index) => index + 1));
  expect(withoutControls(`a${controls}b\x1bc`)).toBe("a\t\nbc");
});

describe("lengths count code points", () => {
  test("a wave of the hand is one", () => expect(codePointLength("a👋b")).toBe(3));
  test("a text is cut between them", () => expect(truncateCodePoints("👋👋👋", 2)).toBe("👋👋"));
  test("a short text is kept", () => expect(truncateCodePoints("👋a", 2)).toBe("👋a"));
});

describe("UTF-8 is cut at a code point", () => {
  test.each([
    ["abc", 2, "ab"],
    ["üü", 3, "ü"],
    ["a👋", 4, "a"],
    ["a👋", 5, "a👋"],
    ["", 0, ""],
  ])("%p to %p bytes", (text, limit, cut) => {
    expect(truncateUtf8(text, limit)).toBe(cut);
    expect(utf8Length(truncateUtf8(text, limit))).toBeLessThanOrEqual(limit);
  });
});
