import { expect, test } from "bun:test";
import { sizeGate } from "../../src/flows/size-gate.ts";

/** Work that goes on until it is told to end, and what is going on. */
function workshop(capacity: number) {
  const gated = sizeGate(capacity);
  const going = new Set<string>();
  const ends = new Map<string, PromiseWithResolvers<void>>();
  return {
    going,
    start(name: string, size: number): Promise<void> {
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      return gated(size, async () => {
        going.add(name);
        await end.promise.finally(() => going.delete(name));
      });
    },
    end: (name: string) => ends.get(name)?.resolve(),
    fail: (name: string) => ends.get(name)?.reject(new Error(name)),
  };
}

test("work goes on at once as far as there is room, the first come first", async () => {
  const { start, end, going } = workshop(10);
  const all = [start("a", 6), start("b", 4), start("c", 6), start("d", 1)];
  await Promise.resolve();
  expect([...going]).toEqual(["a", "b"]);
  end("b");
  await all[1];
  // The small one that came later doesn't pass the large one that waits.
  expect([...going]).toEqual(["a"]);
  end("a");
  await all[0];
  await Promise.resolve();
  expect([...going]).toEqual(["c", "d"]);
  end("c");
  end("d");
  await Promise.all(all);
});

test("what is larger than all the room goes alone", async () => {
  const { start, end, going } = workshop(10);
  const large = start("large", 100);
  const small = start("small", 1);
  await Promise.resolve();
  expect([...going]).toEqual(["large"]);
  end("large");
  await large;
  await Promise.resolve();
  expect([...going]).toEqual(["small"]);
  end("small");
  await small;
});

test("work that fails makes room, too, and says so to its caller alone", async () => {
  const { start, end, fail, going } = workshop(1);
  const first = start("first", 1);
  const second = start("second", 1);
  await Promise.resolve();
  fail("first");
  expect(first).rejects.toThrow("first");
  await first.catch(() => undefined);
  await Promise.resolve();
  expect([...going]).toEqual(["second"]);
  end("second");
  await second;
});
