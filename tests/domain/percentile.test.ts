import { expect, test } from "bun:test";
import { percentile } from "../../src/domain/percentile.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, index) => count - index);

test.each([
  ["no value", [], 0.5, undefined],
  ["the only value", [7], 0.99, 7],
  ["half of two values", [9, 1], 0.5, 1],
  ["half of three values", [3, 1, 2], 0.5, 2],
  ["99 of 100 values", upTo(100), 0.99, 99],
  ["99 of 100 values, of ten", upTo(10), 0.99, 10],
  ["half of a thousand values", upTo(1_000), 0.5, 500],
] as const)("%s", (_, values, share, expected) => {
  expect(percentile(values, share)).toBe(expected);
});
