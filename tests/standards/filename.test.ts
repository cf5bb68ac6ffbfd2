import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { storedNames } from "../../src/standards/filename.ts";
import { cpuMs } from "../support/cpu.ts";

function named(filename: string | undefined, contentType = "application/pdf"): string | undefined {
  return storedNames([{ filename, contentType }])[0];
}

describe("a stored name is safe", () => {
  test.each([
    ["an ordinary name stays", "report.pdf", "report.pdf"],
    ["spaces and other scripts stay", "Übersicht 2025 – 報告.pdf", "Übersicht 2025 – 報告.pdf"],
    ["a decomposed letter is composed (NFC)", "Fro\u0308sche.txt", "Frösche.txt"],
    ["folders go", "../../etc/passwd", "passwd"],
    ["folders of Windows go", "C:\\Users\\ada\\x.txt", "x.txt"],
    ["a folder alone gives its name", "a/b/", "b"],
    ["control characters go", "a\0b\x1b\u0085.txt", "ab.txt"],
    ["a line break is a space", "annual\r\n\treport.txt", "annual report.txt"],
    ["what turns the direction of text goes", "invoice\u202efdp.exe", "invoicefdp.exe"],
    ["lone surrogates can't be stored", "a\ud800.txt", "a\ufffd.txt"],
    ["space around goes", "  a.txt ", "a.txt"],
    ["a dot is no name", ".", "attachment-1.pdf"],
    ["two dots are none", "..", "attachment-1.pdf"],
    ["dots with a space between are none", ". .", "attachment-1.pdf"],
    ["nor with more of them", ". .. . ", "attachment-1.pdf"],
    ["dots that a space ends are none", "..\u00a0.", "attachment-1.pdf"],
    ["white space alone is none", " \u00a0\t", "attachment-1.pdf"],
    ["separators alone are none", "/\\/", "attachment-1.pdf"],
    ["controls alone are none", "\u202e\n", "attachment-1.pdf"],
    ["the empty name is none", "", "attachment-1.pdf"],
    ["no name is none", undefined, "attachment-1.pdf"],
    ["a hidden file is a file", ".env", ".env"],
  ])("%s", (_what, filename, stored) => expect(named(filename)).toBe(stored));

  test.each([
    ["image/png", "attachment-1.png"],
    ["message/rfc822", "attachment-1.eml"],
    ["text/x-diff", "attachment-1.txt"],
    ["application/octet-stream", "attachment-1.bin"],
    ["application/x-unheard-of", "attachment-1.bin"],
  ])("a nameless %s is %s", (contentType, stored) => expect(named(undefined, contentType)).toBe(stored));

  test("a long name is cut before its extension, between characters", () => {
    const stored = named(`${"ü".repeat(300)}.pdf`);
    expect(stored).toBe(`${"ü".repeat(125)}.pdf`);
  });
  test("an endless extension is cut like any text", () => {
    expect(Buffer.byteLength(named(`a.${"x".repeat(400)}`) ?? "")).toBe(255);
  });
});

describe("the names of one mail differ", () => {
  test.each([
    ["a double gets a number", ["a.txt", "a.txt", "a.txt"], ["a.txt", "a-2.txt", "a-3.txt"]],
    ["also one without extension", ["README", "README"], ["README", "README-2"]],
    ["case doesn't tell them apart", ["A.TXT", "a.txt"], ["A.TXT", "a-2.txt"]],
    ["a number that is taken is passed over", ["a-2.txt", "a.txt", "a.txt"], ["a-2.txt", "a.txt", "a-3.txt"]],
    ["a name that a double took is a double too", ["a.txt", "a.txt", "a-2.txt"], ["a.txt", "a-2.txt", "a-2-2.txt"]],
    [
      "nameless parts count up",
      [undefined, "", undefined],
      ["attachment-1.pdf", "attachment-2.pdf", "attachment-3.pdf"],
    ],
    [
      "and give way to a part of that name",
      ["attachment-1.pdf", undefined],
      ["attachment-1.pdf", "attachment-1-2.pdf"],
    ],
    ["folders don't tell them apart", ["x/a.txt", "y/a.txt"], ["a.txt", "a-2.txt"]],
  ])("%s", (_what, filenames, stored) => {
    expect(storedNames(filenames.map((filename) => ({ filename, contentType: "application/pdf" })))).toEqual(stored);
  });

  test("the number fits into a name of full length", () => {
    const filename = `${"x".repeat(251)}.pdf`;
    const [first, second] = storedNames(Array(2).fill({ filename, contentType: "application/pdf" }));
    expect(first).toBe(filename);
    expect(second).toBe(`${"x".repeat(249)}-2.pdf`);
  });

  test("any names become safe, short and unique", () => {
    const unit = fc.constantFrom(..."aA.-2/\\ \0\n\u202eü", "👋", "\ud800");
    const part = fc.record({
      filename: fc.option(fc.string({ unit, maxLength: 300 }), { nil: undefined }),
      contentType: fc.constantFrom("image/png", "text/plain", "x/y"),
    });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const names = storedNames(parts);
        expect(names.length).toBe(parts.length);
        expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(parts.length);
        for (const name of names) {
          expect(name).not.toMatch(/[/\\\u0000-\u001f\u202e]|^[.\s]*$/);
          expect(name.isWellFormed()).toBe(true);
          expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
          expect(name.normalize("NFC")).toBe(name);
        }
      }),
    );
  });

  test("10,000 equal names take no quadratic time", () => {
    const startMs = cpuMs();
    expect(storedNames(Array(10_000).fill({ filename: "a.txt", contentType: "text/plain" })).at(-1)).toBe(
      "a-10000.txt",
    );
    expect(cpuMs() - startMs).toBeLessThan(2000);
  });
});
