import { expect, test } from "bun:test";
import { garbageOfAnswers } from "../../src/database/embedded-garbage.ts";
import { until } from "../support/until.ts";

/** Resolves when what was left for the next turn of the event loop is done. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("Garbage of answers is collected when there is much of it, by bytes and by values, and not before", async () => {
  let collected = 0;
  const leaves = garbageOfAnswers(() => {
    collected += 1;
  });
  leaves(1 << 20, 1);
  leaves(2 << 20, 1);
  await nextTurn();
  expect(collected).toBe(0);
  leaves(1 << 20, 1);
  expect(collected).toBe(0);
  await until(() => collected === 1);

  for (let count = 0; count < 1_000; count += 1) leaves(200, 40);
  await nextTurn();
  expect(collected).toBe(1);
  for (let count = 0; count < 1_000; count += 1) leaves(200, 40);
  await until(() => collected === 2);
});
