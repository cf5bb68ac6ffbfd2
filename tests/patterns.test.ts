import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import { patternsIn } from "./support/patterns.ts";
import { weaknessOf } from "./support/slow-pattern.ts";

const house = join(import.meta.dir, "..");

async function patternsOf(glob: string) {
  const files = [...new Glob(glob).scanSync({ cwd: house })].filter((file) => !file.endsWith(".d.ts")).toSorted();
  const texts = await Promise.all(files.map((file) => Bun.file(join(house, file)).text()));
  return files.flatMap((file, index) => patternsIn(file, texts[index] ?? ""));
}

describe("a pattern takes at most 2.5 times as long for twice as much text, for any text", () => {
  test("every pattern of the service and its client", async () => {
    const patterns = (await Promise.all(["src/**/*.ts", "sdk/typescript/src/*.ts"].map(patternsOf))).flat();
    expect(patterns.length).toBeGreaterThan(100);
    const slow = patterns.flatMap((pattern) => {
      const weakness = weaknessOf(pattern);
      return weakness === undefined ? [] : [{ ...pattern, ...weakness }];
    });
    expect(slow).toEqual([]);
  }, 60_000);

  const weak: readonly [why: string, pattern: RegExp][] = [
    ["white space at the end", /\s+$/],
    ["one sign of several at the end, everywhere", /^<|[>.,;:)]+$/g],
    ["what may be part of both", /^([\w.+-]+\/[\w.+-]+)[\s,]+(\S.*)$/],
    ["an end that does not come", /<a\b[^>]*href\s*=\s*["']?([^\s"']+)[^>]*>/iy],
    ["anything before a word", /.*\bqueued as ([!-~]+)/i],
    ["a word of words", /^(?:a+)+$/],
    ["three of a kind", /^\d*\d*\d*x/],
  ];
  test.each(weak)("but not one with %s", (_, { source, flags }) => {
    expect(weaknessOf({ source, flags })).toBeDefined();
  });

  const sound: readonly [why: string, pattern: RegExp][] = [
    ["white space at the beginning", /^\s+/],
    ["a run of one kind between two others", /^[a-z]+\/[a-z]+[\s,]+([^\s,].*)$/s],
  ];
  test.each(sound)("as one with %s does", (_, { source, flags }) => {
    expect(weaknessOf({ source, flags })).toBeUndefined();
  });
});

describe("patterns are found", () => {
  const rows: readonly [where: string, text: string, sources: string[]][] = [
    ["as an argument", String.raw`text.replace(/a\/[/]b/gi, "")`, [String.raw`a\/[/]b`]],
    ["behind return", "return /a/.test(b)", ["a"]],
    ["within a template, not in its text", written("/x/ * /y/", "b.match(/a/)"), ["a"]],
    ["behind braces within a template", written("* /y/", "{ c: {} }, /a/"), ["a"]],
    ["not in comments and strings", "// /a/\n/* /b/ */ '/c/' + \"/d/\"", []],
    ["not in a division", "a / b / c", []],
    [
      "made from constants",
      `const word = "[a-z]+";\nconst all = new RegExp(${written("^*$", "word")}, "u");`,
      ["^[a-z]+$"],
    ],
    ["made from what only a call knows", `new RegExp(${written("</*>", "name")})`, ["<\\/x>"]],
  ];
  test.each(rows)("%s", (_, text, sources) => {
    expect(patternsIn("file.ts", text).map(({ source }) => source)).toEqual(sources);
  });
});

/** A template literal, with code in place of the star. */
function written(text: string, code: string): string {
  return `\`${text.replace("*", () => `\${${code}}`)}\``;
}
