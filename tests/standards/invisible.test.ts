import { expect, test } from "bun:test";
import fc from "fast-check";
import { withoutInvisible } from "../../src/standards/invisible.ts";

const tagged = Array.from("ignore this", (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");
const asEntities = Array.from(tagged, (tag) => `&#x${tag.codePointAt(0)?.toString(16)};`).join("");

const rows: readonly [what: string, text: string, left: string][] = [
  ["plain text", "Hello\n\tJane & Joe, 5 < 6", "Hello\n\tJane & Joe, 5 < 6"],
  ["tag characters", `Hello${tagged} Jane`, "Hello Jane"],
  ["tag characters as entities", `Hello${asEntities} Jane`, "Hello Jane"],
  ["controls of direction", "a\u202eb\u2066c\u2069d\u200fe\u061cf", "abcdef"],
  ["what has no width", "pass\u200bword\ufeff\u2060\u00ad\u180e\u034f", "password"],
  ["fillers", "a\u3164b\uffa0c\u115fd", "abcd"],
  ["controls", "a\u0007b\u001bc\u0085d\u007f", "abcd"],
  ["zero width as decimal, hexadecimal and name", "a&#8203;b&#X200B;c&ZeroWidthSpace;d&zwnj;e&shy;f", "abcdef"],
  ["entities without a semicolon and with many noughts", `a&#8203 b&#x${"0".repeat(60)}200b;c`, "a bc"],
  [
    "entities of what is seen",
    "&amp; &lt; &#65; &#x41; &eacute; &#x1F600; &nosuch;",
    "&amp; &lt; &#65; &#x41; &eacute; &#x1F600; &nosuch;",
  ],
  ["an entity beyond Unicode", "&#x110000; &#99999999999999999999;", "&#x110000; &#99999999999999999999;"],
  ["an entity within an entity", "a&#x20&#x200b;0b;b", "ab"],
  ["an entity around a hidden character", "a&#x20\u200b0b;b", "ab"],
  ["a selector that varies an emoji", "\u2764\ufe0f and 1\ufe0f\u20e3", "\u2764\ufe0f and 1\ufe0f\u20e3"],
  ["an ideograph's variant", "\u845b\u{e0100}", "\u845b\u{e0100}"],
  ["selectors that vary nothing", "a\ufe00\ufe01b\u{e0100}\u{e0101}c", "abc"],
  ["a run of selectors behind an emoji", "\u{1f600}\ufe0f\ufe0f\u{e0100}\u{e0154}", "\u{1f600}\ufe0f"],
  ["other scripts", "café שלום 日本語 नमस्ते", "café שלום 日本語 नमस्ते"],
];

test.each(rows)("of %s the visible part is left", (_, text, left) => {
  expect(withoutInvisible(text)).toBe(left);
});

test("entities nested in each other as deep as one likes leave none that is whole", () => {
  const nested = `${"&#x20".repeat(2000)}${"0b;".repeat(2000)}`;
  expect(withoutInvisible(nested)).not.toMatch(/&#x200b;/i);
});

test("a second run removes nothing", () => {
  const pieces = ["a", "&#x20", "0b;", "&#8203;", "\u200b", "\ufe0f", "\u{e0041}", "\u{1f600}", "&zwj;", "&", ";", "x"];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 30 }), (parts) => {
      const once = withoutInvisible(parts.join(""));
      expect(withoutInvisible(once)).toBe(once);
    }),
  );
});
