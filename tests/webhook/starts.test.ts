import { describe, expect, test } from "bun:test";
import { startQueues } from "../../src/webhook/starts.ts";

describe("Starts under one name", () => {
  test("leave in the order of entering", async () => {
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

  test("do not wait for starts under another name, or if they are the first", () => {
    const { enter } = startQueues();
    enter("a");
    expect(enter("b").inOrder()).toBeUndefined();
    const gone = enter("c");
    gone.leave();
    expect(enter("c").inOrder()).toBeUndefined();
  });

  test("that end early do not let later ones pass earlier ones", async () => {
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

  test("wait for one that never starts up to the time limit", async () => {
    const { enter } = startQueues(5);
    enter("a");
    const waiting = enter("a").inOrder();
    expect(waiting).toBeInstanceOf(Promise);
    await waiting;
  });
});
