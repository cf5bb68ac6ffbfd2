import { describe, expect, test } from "bun:test";
import { startQueues } from "../../src/webhook/starts.ts";

describe("Starts under one name", () => {
  test("come one after the other, in the order of entering", async () => {
    const { enter } = startQueues();
    const starts = [enter("a"), enter("a"), enter("a")];
    const order: number[] = [];
    const all = starts.map(async (start, number) => {
      await start.inOrder();
      order.push(number);
      start.leave();
    });
    await Promise.all(all.toReversed());
    expect(order).toEqual([0, 1, 2]);
  });

  test("don't wait for those of another, nor for nobody", () => {
    const { enter } = startQueues();
    enter("a");
    expect(enter("b").inOrder()).toBeUndefined();
    const gone = enter("c");
    gone.leave();
    expect(enter("c").inOrder()).toBeUndefined();
  });

  test("that are given up let nobody pass those before them", async () => {
    const { enter } = startQueues();
    const [first, second, third] = [enter("a"), enter("a"), enter("a")];
    second.leave();
    let hasThird = false;
    const waiting = third.inOrder()?.then(() => {
      hasThird = true;
    });
    await Promise.resolve();
    expect(hasThird).toBe(false);
    first.leave();
    await waiting;
    expect(hasThird).toBe(true);
  });

  test("are held up by one that never starts for as long as patience lasts", async () => {
    const { enter } = startQueues(5);
    enter("a");
    const waiting = enter("a").inOrder();
    expect(waiting).toBeInstanceOf(Promise);
    await waiting;
  });
});
