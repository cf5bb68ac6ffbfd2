import { expect, test } from "bun:test";
import { locks } from "../../src/store/locks.ts";

test("no two locks have one number, and each is a number that JavaScript can say", () => {
  const numbers = Object.values(locks);
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.every(Number.isSafeInteger)).toBe(true);
});
