import { describe, expect, test } from "bun:test";
import { Refusal } from "../../src/domain/errors.ts";
import { canonicalJson, fingerprintOf, parseIdempotencyKey } from "../../src/domain/idempotency.ts";

describe("an Idempotency-Key", () => {
  const rows: [string, string, string][] = [
    ["bare", "abc-123", "abc-123"],
    ["quoted is the same key", '"abc-123"', "abc-123"],
    ["with space around", "  abc ", "abc"],
    ["quoted, with escapes", '"a\\"b\\\\c"', 'a"b\\c'],
    ["of 255 characters", "k".repeat(255), "k".repeat(255)],
    ["with a quote within, bare", 'a"b', 'a"b'],
    ["of every visible character", "!~", "!~"],
  ];
  test.each(rows)("%s", (_, field, key) => {
    expect(parseIdempotencyKey(field)).toBe(key);
  });

  const malformed: [string, string][] = [
    ["empty in quotes", '""'],
    ["256 characters", "k".repeat(256)],
    ["a space within", "a b"],
    ["beyond ASCII", "schlüssel"],
    ["a control character", "a\tb"],
    ["a quote that never closes", '"abc'],
    ["a lone quote", '"'],
    ["a quote that closes too soon", '"a"b"'],
    ["an escape of nothing", '"abc\\"'],
  ];
  test.each(malformed)("malformed: %s", (_, field) => {
    expect(() => parseIdempotencyKey(field)).toThrow(Refusal);
  });
});

describe("equal requests have one fingerprint", () => {
  const rows: [string, unknown, unknown][] = [
    ["whatever the order of keys", { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ["whether undefined is named or not", { a: 1, b: undefined }, { a: 1 }],
    ["in lists of such", [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
  ];
  test.each(rows)("%s", (_, left, right) => {
    expect(canonicalJson(left)).toBe(canonicalJson(right));
    expect(fingerprintOf("inb", left)).toBe(fingerprintOf("inb", right));
  });
});

describe("other requests have another", () => {
  const rows: [string, unknown, unknown][] = [
    ["another value", { a: 1 }, { a: 2 }],
    ["a number and its text", { a: 1 }, { a: "1" }],
    ["another order in a list", { a: [1, 2] }, { a: [2, 1] }],
    ["null and absent", { a: null }, {}],
    ["a key in the place of a value", { a: "b" }, { b: "a" }],
    ["text that looks like structure", { a: '1,"b":2' }, { a: 1, b: 2 }],
  ];
  test.each(rows)("%s", (_, left, right) => {
    expect(fingerprintOf("inb", left)).not.toBe(fingerprintOf("inb", right));
  });
  test("another path", () => {
    expect(fingerprintOf("inb_1", {})).not.toBe(fingerprintOf("inb_2", {}));
  });
});
