import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { candidatesIn } from "../../../src/extract/codes/code-candidates.ts";
import { cuesIn } from "../../../src/extract/codes/code-cues.ts";
import { rankRules, surroundingsOf } from "../../../src/extract/codes/code-ranks.ts";
import { codesOf } from "../../../src/extract/codes/codes.ts";
import { foldText } from "../../../src/extract/folded-text.ts";
import { visibleTextOf } from "../../../src/mail/html/html-walk.ts";
import { excessMsOf } from "../../support/extraction-cost.ts";
import { type CodeMail, codeMails } from "./mails.ts";

const mails = await codeMails();
const withCode = mails.filter(({ code }) => code !== undefined);
const without = mails.filter(({ code }) => code === undefined);

/** True if the rules give the result in the row of a mail. */
function isRight(mail: CodeMail): boolean {
  const codes = codesOf(mail);
  const [first] = codes;
  if (mail.code === undefined) return first === undefined;
  return (
    first?.code === mail.code &&
    first.domain === (mail.domain ?? null) &&
    (mail.shown === undefined || first.text === mail.shown) &&
    (mail.count === undefined || codes.length === mail.count)
  );
}

const rightShare = (some: readonly CodeMail[]) => some.filter(isRight).length / some.length;

test("each example in the table of ranks is decided by its own rule", () => {
  const deciding = rankRules.map(([example]) => {
    const [, title = "", body = example] = /^Subject: (.*)\n\n(.*)$/s.exec(example) ?? [];
    const text = foldText(body);
    const candidates = candidatesIn(text.shape);
    const subject = cuesIn(foldText(title), undefined);
    const [candidate] = candidates;
    if (candidate === undefined) return undefined;
    const seen = surroundingsOf(text, candidate, cuesIn(text, candidates, subject), subject);
    return rankRules.find(([, fits]) => fits(seen))?.[0];
  });
  expect(deciding).toEqual(rankRules.map(([example]) => example));
});

describe("the code of a mail", () => {
  test("is looked for in more than three hundred mails of more than twenty-five languages, half of them without one", () => {
    expect(mails.length).toBeGreaterThan(300);
    expect(new Set(withCode.map(({ lang }) => lang)).size).toBeGreaterThan(25);
    expect(new Set(without.map(({ lang }) => lang)).size).toBeGreaterThanOrEqual(25);
    expect(Math.abs(withCode.length - without.length)).toBeLessThan(mails.length / 10);
  });

  test("comes first in 97 of 100 mails that bring one", () => {
    expect(rightShare(withCode)).toBeGreaterThanOrEqual(0.97);
  });

  test("is none in 98 of 100 mails that bring none", () => {
    expect(rightShare(without)).toBeGreaterThanOrEqual(0.98);
  });

  test("is wrong only in mails that are marked as missed", () => {
    const wrong = mails.filter((mail) => !isRight(mail)).map(({ file, why }) => `${file}: ${why}`);
    const marked = mails.filter(({ miss }) => miss !== undefined).map(({ file, why }) => `${file}: ${why}`);
    expect(wrong).toEqual(marked);
  });

  test("has its source and its original spelling", () => {
    const sources = {
      subject: "Acme",
      newText: "Your login code is ４８２ ９１３.",
      htmlText: "Your login code: 771204",
    };
    expect(codesOf(sources)).toEqual([
      { code: "482913", text: "４８２ ９１３", domain: null, source: "text" },
      { code: "771204", text: "771204", domain: null, source: "html" },
    ]);
  });

  test("is listed once, with its best source, and further codes of the HTML follow", () => {
    const sources = {
      subject: "482913 is your login code",
      newText: "Your login code is 482913.",
      htmlText: "Your login code is 482913.\nYour backup code is 771204.",
    };
    expect(codesOf(sources).map(({ code, source }) => [code, source])).toEqual([
      ["482913", "subject"],
      ["771204", "html"],
    ]);
  });

  test("comes from the HTML if the text ranks it lower", () => {
    const sources = {
      subject: "Acme",
      newText: "Your login code\n\nSee below\n\n482913",
      htmlText: "Login code: 482913",
    };
    expect(codesOf(sources).map(({ code, source }) => [code, source])).toEqual([["482913", "html"]]);
  });

  test("is written without invisible characters", () => {
    const newText = "Your login code is \u200e482\u200b913\u200e.";
    expect(codesOf({ subject: "", newText, htmlText: undefined })[0]?.code).toBe("482913");
  });

  test("is one of at most five, without repeats", () => {
    const newText = Array.from({ length: 9 }, (_, at) => `Login code: 48291${at}\nLogin code: 48291${at}`).join("\n");
    expect(codesOf({ subject: "", newText, htmlText: newText }).map(({ code }) => code)).toEqual([
      "482910",
      "482911",
      "482912",
      "482913",
      "482914",
    ]);
  });

  test("is not looked for behind 64 KiB", () => {
    const newText = `${" ".repeat(64 * 1024)}Your login code is 482913.`;
    expect(codesOf({ subject: "", newText, htmlText: undefined })).toEqual([]);
  });
});

describe("a hostile mail costs no more than 20 ms", () => {
  const size = 64 * 1024;
  const flood = (piece: string, length = size) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
  const pieces = [
    "1",
    "1.",
    "1 ",
    "1-",
    "12 ",
    "1234 ",
    "1\n",
    "A",
    "A1-",
    "code ",
    "code 123456\n",
    "code: 1234 ",
    "your code is ",
    "login ",
    "@a ",
    "@a.b #1\n",
    "https://",
    "a.bb",
    "a.bb ",
    "=a",
    "a/b",
    ":",
    " ",
    "\n",
    "* ",
    "-",
    "….",
    "••",
    "\u200b",
    "é",
    "验证码1234",
    "رمز ١٢٣٤ ",
    "code\n\n",
    "promo code 1234 ",
    "order 1234 code ",
    "😀",
    "𝟏𝟐𝟑𝟒 ",
    "İ",
    "\ud800",
  ];
  test.each(pieces)("of %j", (piece) => {
    const sources = { subject: "Your code", newText: flood(piece), htmlText: flood(piece) };
    expect(excessMsOf(() => codesOf(sources))).toBeUndefined();
  });

  test("of a quarter of a megabyte of entities and open tags, after its words were read", () => {
    for (const piece of ["&#x31;", "<b>1", "<td>1", "<p>code 1234"]) {
      const htmlText = visibleTextOf(flood(piece, 4 * size));
      expect(excessMsOf(() => codesOf({ subject: "code", newText: "", htmlText }))).toBeUndefined();
    }
  });

  test("and entities beyond Unicode give no digits", () => {
    const htmlText = visibleTextOf("<p>Your login code is &#x1000031;&#x1000032;&#x1000033;&#x1000034;</p>");
    expect(codesOf({ subject: "", newText: "", htmlText })).toEqual([]);
  });
});

describe("the words of each language", async () => {
  const list = await Bun.file(join(import.meta.dir, "phrases.txt")).text();
  const rows = Array.from(list.matchAll(/^([\w-]+) (code|none): (.*)$/gm), ([, lang = "", kind, phrases = ""]) => ({
    lang,
    kind,
    phrases: phrases.split("; "),
  }));
  const firstOf = (newText: string) => codesOf({ subject: "Acme", newText, htmlText: undefined })[0]?.code;

  test("has thirty languages, each with a code and a name of another number", () => {
    const languages = new Set(rows.map(({ lang }) => lang));
    expect(languages.size).toBeGreaterThanOrEqual(30);
    for (const { kind, phrases } of rows) {
      if (kind === "code") expect(phrases.length).toBeGreaterThanOrEqual(11);
      else expect(phrases.length).toBe(14);
    }
    expect(rows.length).toBe(2 * languages.size);
  });

  test.each(rows.filter(({ kind }) => kind === "code"))("is a code of $lang", ({ phrases }) => {
    const missed = phrases.flatMap((phrase) =>
      [`${phrase}: 48213`, `${phrase} 48213`, `Acme\n\n${phrase}\n\n48213`, `48213 - ${phrase}`].filter(
        (text) => firstOf(text) !== "48213",
      ),
    );
    expect(missed).toEqual([]);
  });

  test.each(rows.filter(({ kind }) => kind === "none"))("is no code of $lang", ({ phrases }) => {
    const taken = phrases.flatMap((phrase) =>
      [`Acme. ${phrase}: 48213.`, `${phrase} 48213`].filter((text) => firstOf(text) !== undefined),
    );
    expect(taken).toEqual([]);
  });
});
