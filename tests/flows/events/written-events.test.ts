import { expect, test } from "bun:test";
import { writtenEvent, writtenMemories } from "../../../src/flows/events/written-events.ts";

test("The first of what was written together is at hand, however large they all are", async () => {
  const budget = { accountBytes: 10_000, processBytes: 20_000, freshMs: 60_000 };
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
