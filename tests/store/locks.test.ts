import { expect, test } from "bun:test";
import { locks } from "../../src/store/locks.ts";

test("no two locks have one number, and each is a number that JavaScript can say", () => {
  const numbers = Object.values(locks);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.every(Number.isSafeInteger)).toBe(true);
});

test("the numbers stay what they are: older processes beside meet at them", () => {
  expect(locks).toEqual({
    migrating: 0x696e626f7864,
    firstStart: 7_521_962_899_002_001,
    claiming: 7_521_962_899_002_002,
    pruning: 7_521_962_899_002_003,
  });
});
