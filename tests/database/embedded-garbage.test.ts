import { expect, test } from "bun:test";
import { garbageOfRows } from "../../src/database/embedded-garbage.ts";
import { until } from "../support/until.ts";

/** Resolves when what was left for the next turn of the event loop is done. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("Garbage of rows is collected when there is much of it, by bytes and by fields, and not before", async () => {
  let collected = 0;
  const leaves = garbageOfRows(() => {
    collected += 1;
  });
  const long = { length: 1 << 20, fields: ["text"] };
  leaves(long);
  leaves(long);
  await nextTurn();
  expect(collected).toBe(0);
  leaves(long);
  expect(collected).toBe(0);
  await until(() => collected === 1);

  const wide = { length: 200, fields: Array(20).fill("1") };
  for (let count = 0; count < 1_000; count += 1) leaves(wide);
  await nextTurn();
  expect(collected).toBe(1);
  for (let count = 0; count < 1_000; count += 1) leaves(wide);
  await until(() => collected === 2);
});
