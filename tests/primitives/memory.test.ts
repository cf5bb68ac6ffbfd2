import { expect, test } from "bun:test";
import { boundedMemory, passingMemory } from "../../src/primitives/memory.ts";

test("the value that was set first is forgotten first, whatever was read since", () => {
  const memory = boundedMemory<string, number>(2);
  memory.set("a", 1);
  memory.set("b", 2);
  memory.set("a", 3);
  memory.get("b");
  memory.set("c", 4);
  expect(["a", "b", "c"].map(memory.get)).toEqual([3, undefined, 4]);
});

test("it has at most its limit of values, and at least seven eighths of that once it was full", () => {
  const memory = boundedMemory<number, number>(80);
  for (let key = 0; key < 1000; key++) {
    memory.set(key, key);
    const kept = Array.from({ length: key + 1 }, (_, each) => each).filter((each) => memory.get(each) !== undefined);
    expect(kept.length).toBeLessThanOrEqual(80);
    expect(kept.length).toBeGreaterThanOrEqual(Math.min(key + 1, 70));
    expect(kept.at(0)).toBe(key + 1 - kept.length);
  }
});

test("the sizes of its values are at most its limit together, also when values are replaced and deleted", () => {
  const memory = boundedMemory<string, string>(10, ({ length }) => length);
  const kept = () => ["a", "b", "c", "d"].filter((key) => memory.get(key) !== undefined);
  memory.set("a", "xxxx");
  memory.set("a", "xxx");
  memory.set("b", "xxxx");
  memory.set("c", "xxx");
  expect(kept()).toEqual(["a", "b", "c"]);
  memory.delete("b");
  memory.set("d", "xxxx");
  expect(kept()).toEqual(["a", "c", "d"]);
  memory.set("b", "xxxxx");
  expect(kept()).toEqual(["b", "d"]);
  memory.set("c", "x".repeat(11));
  expect(kept()).toEqual([]);
});

test("a value has expired at its instant", () => {
  const memory = passingMemory<string, string>(2);
  memory.set("a", "here", 1000);
  expect([memory.get("a", 999), memory.get("a", 1000)]).toEqual(["here", undefined]);
  memory.set("a", "again", 2000);
  memory.delete("a");
  expect(memory.get("a", 0)).toBeUndefined();
  memory.set("b", "here", 1000);
  memory.clear();
  expect(memory.get("b", 0)).toBeUndefined();
});
