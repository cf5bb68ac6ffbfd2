import { expect, test } from "bun:test";
import { sizeGate } from "../../src/flows/size-gate.ts";

/** Work that runs until the test ends it, with the list of running work. */
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

test("work starts at once while there is room, in order", async () => {
  const { start, end, going } = workshop(10);
  const all = [start("a", 6), start("b", 4), start("c", 6), start("d", 1)];
  await Promise.resolve();
  expect([...going]).toEqual(["a", "b"]);
  end("b");
  await all[1];
  // A later small one does not pass a large one that waits.
  expect([...going]).toEqual(["a"]);
  end("a");
  await all[0];
  await Promise.resolve();
  expect([...going]).toEqual(["c", "d"]);
  end("c");
  end("d");
  await Promise.all(all);
});

test("work larger than the whole room runs alone", async () => {
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

test("work that fails also frees its room, and only its caller gets the error", async () => {
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
