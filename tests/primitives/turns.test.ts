import { expect, test } from "bun:test";
import { turns } from "../../src/primitives/turns.ts";
import { failureOf } from "../support/failure.ts";

const nextRound = () => new Promise((resolve) => setImmediate(resolve));

/** Turns with a clock that only work moves. */
function turnsByClock(longestMs: number) {
  let nowMs = 0;
  return {
    ...turns(longestMs, () => nowMs),
    hold(ms: number): void {
      nowMs += ms;
    },
  };
}

test("long work is done in order, and other work runs between its pieces", async () => {
  const order: string[] = [];
  // Any duration is too long.
  const { takeEach, hold } = turnsByClock(0.001);
  const doing = takeEach("ada", ["a", "b", "c"], (name) => {
    order.push(name);
    hold(1);
    return name.toUpperCase();
  });
  for (let times = 0; times < 6; times += 1) {
    order.push("others");
    await nextRound();
  }
  expect(await doing).toEqual(["A", "B", "C"]);
  expect(order.slice(0, order.indexOf("c") + 1)).toEqual(["a", "others", "b", "others", "c"]);
});

test("short work is done at once", async () => {
  const done: number[] = [];
  const doing = turns(1000).takeEach("ada", [1, 2, 3], (each) => done.push(each));
  expect(done).toEqual([1, 2, 3]);
  expect(await doing).toEqual([1, 2, 3]);
});

test("an empty list ends at once", async () => {
  expect(await turns(10).takeEach("ada", [], () => 1)).toEqual([]);
});

test("ten lists of one owner together get as much time as one list of another", async () => {
  const order: string[] = [];
  const { takeEach, hold } = turnsByClock(0.001);
  const list = (whose: string, pieceMs: number, pieces: number) =>
    takeEach(whose, Array.from({ length: pieces }), () => {
      order.push(whose);
      hold(pieceMs);
    });
  const worst = Array.from({ length: 10 }, () => list("flood", 8, 5));
  await list("quiet", 2, 20);
  // 20 pieces of 2 ms are as long as 5 of 8 ms; one more may be under way.
  expect(order.filter((whose) => whose === "flood").length).toBeLessThanOrEqual(6);
  expect(order.filter((whose) => whose === "quiet")).toHaveLength(20);
  await Promise.all(worst);
  expect(order.filter((whose) => whose === "flood")).toHaveLength(50);
});

test("a new owner does not catch up on time before it came", async () => {
  const order: string[] = [];
  const { takeEach, hold } = turnsByClock(0.001);
  const piece = (whose: string, pieces: number) =>
    takeEach(whose, Array.from({ length: pieces }), () => {
      order.push(whose);
      hold(2);
    });
  const early = piece("early", 30);
  for (let round = 0; round < 10; round += 1) await nextRound();
  const before = order.length;
  await piece("late", 10);
  expect(order.slice(before).filter((whose) => whose === "early").length).toBeGreaterThanOrEqual(5);
  await early;
});

test("work that throws counts its time and ends only its own list", async () => {
  const { takeEach, hold } = turnsByClock(0.001);
  const failing = takeEach("ada", [1, 2], () => {
    hold(1);
    throw new Error("strange mail");
  });
  let isServed = false;
  setImmediate(() => {
    isServed = true;
  });
  expect(String(await failureOf(failing))).toContain("strange mail");
  expect(await takeEach("ada", [1], () => isServed)).toEqual([true]);
});
