import { expect, test } from "bun:test";
import { logTurns } from "../../../src/flows/events/log-turns.ts";

/** The order in which readers get the only turn, which they wait for together. */
async function orderOf(readers: readonly { name: string; readBytes: number }[]): Promise<string[]> {
  const turns = logTurns(1);
  await turns.take(0);
  const order: string[] = [];
  const all = readers.map(async ({ name, readBytes }) => {
    await turns.take(readBytes);
    order.push(name);
    turns.giveBack();
  });
  expect(turns.areWanted()).toBe(true);
  turns.giveBack();
  await Promise.all(all);
  expect(turns.areWanted()).toBe(false);
  return order;
}

test("A new reader of the log begins at once beside those that have read much, and they go on too", async () => {
  const order = await orderOf([
    { name: "first of the heavy", readBytes: 5_000 },
    { name: "second of the heavy", readBytes: 5_000 },
    { name: "third of the heavy", readBytes: 9_000 },
    { name: "new", readBytes: 0 },
  ]);
  expect(order).toEqual(["new", "first of the heavy", "second of the heavy", "third of the heavy"]);
});

test("A turn that is given back is free again", async () => {
  const turns = logTurns(1);
  for (let round = 0; round < 3; round += 1) {
    await turns.take(0);
    turns.giveBack();
  }
  expect(turns.areWanted()).toBe(false);
});
