import { expect, test } from "bun:test";
import { turns } from "../../src/primitives/turns.ts";

test("long work is done in the order in which it was asked for, and others are served between its pieces", async () => {
  const order: string[] = [];
  // Any time at all is too long.
  const { take } = turns(0.001);
  const piece = (name: string) =>
    take(() => {
      order.push(name);
      for (const untilMs = performance.now() + 1; performance.now() < untilMs; );
    });
  const pieces = ["a", "b", "c"].map(piece);
  for (let times = 0; times < 6; times += 1) {
    order.push("others");
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(pieces);
  expect(order.filter((name) => name !== "others")).toEqual(["a", "b", "c"]);
  expect(order.slice(0, order.indexOf("c"))).toEqual(["a", "others", "b", "others"]);
});

test("work that throws takes its time all the same", async () => {
  const { take } = turns(0.001);
  const failing = take(() => {
    for (const untilMs = performance.now() + 1; performance.now() < untilMs; );
    throw new Error("strange mail");
  });
  let isServed = false;
  setImmediate(() => {
    isServed = true;
  });
  await expect(failing).rejects.toThrow("strange mail");
  expect(await take(() => isServed)).toBe(true);
});
