import { expect, test } from "bun:test";
import { writtenEvent, writtenMemories } from "../../../src/flows/events/written-events.ts";

const budget = { accountBytes: 10_000, processBytes: 20_000, freshMs: 60_000 };

test("The first of the events that were written together is available, however large they all are", async () => {
  const memory = writtenMemories(
    async (ids) => ids.map((id) => writtenEvent({ event: "x".repeat(2_000), event_id: id })),
    budget,
    () => 0,
  )();
  const seen: string[] = [];
  for (let left = ["1", "2", "3", "4", "5"]; left.length > 0; ) {
    await memory.write(left, []);
    const found = left.filter((id) => memory.find(id, []) !== undefined);
    expect(found[0]).toBe(left[0] ?? "");
    seen.push(...found);
    left = left.slice(found.length);
  }
  expect(seen).toEqual(["1", "2", "3", "4", "5"]);
});

test("A reader that waits for an event gets it, although it has been evicted meanwhile", async () => {
  let writes = 0;
  const memory = writtenMemories(
    async (ids) => {
      writes += 1;
      return ids.map((id) => writtenEvent({ event: "x".repeat(9_000), event_id: id }));
    },
    budget,
    () => 0,
  )();
  const writers = [memory.write(["1"], []), memory.write(["1"], ["html"])];
  const waiting = [memory.underWay("1", []), memory.underWay("1", ["html"])];
  const written = await Promise.all([...writers, ...waiting]);
  expect(written.map((event) => (typeof event === "object" ? event.id : event))).toEqual(["1", "1", "1", "1"]);
  expect([memory.find("1", []), typeof memory.find("1", ["html"]), writes]).toEqual([undefined, "object", 2]);
});

test("An event beyond the memory of its account takes no memory from other accounts", async () => {
  const newMemory = writtenMemories(
    async (ids) => ids.map((id) => writtenEvent({ event: "x".repeat(2_000), event_id: id })),
    budget,
    () => 0,
  );
  for (let left = 0; left < 20; left += 1) {
    const memory = newMemory();
    const writing = memory.write(["1"], []);
    memory.forgetAll();
    await writing;
  }
  const [one, other] = [newMemory(), newMemory()];
  await one.write(["1"], []);
  await other.write(["2"], []);
  expect([one.find("1", []), other.find("2", [])].map((found) => typeof found)).toEqual(["object", "object"]);
});
