import { expect, test } from "bun:test";
import { rate } from "../../src/primitives/rate.ts";

test("a key may go on after its period, which begins with its first one", () => {
  const asks = rate<string>({ most: 2, periodMs: 1_000, keys: 10 });
  const taken = [0, 400, 500, 999, 1_000, 1_000, 1_500, 2_000].map((nowMs) => asks.take("a", nowMs));
  expect(taken).toEqual([undefined, undefined, 500, 1, undefined, undefined, 500, undefined]);
});

test("keys have limits of their own, and the oldest are forgotten", () => {
  const asks = rate<number>({ most: 1, periodMs: 1_000, keys: 8 });
  for (let key = 0; key < 8; key += 1) expect(asks.take(key, 0)).toBeUndefined();
  expect(asks.take(7, 1)).toBe(999);
  for (let key = 8; key < 16; key += 1) asks.take(key, 1);
  expect(asks.take(0, 2)).toBeUndefined();
});
