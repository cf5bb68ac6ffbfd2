import { expect, test } from "bun:test";
import { deadlines } from "../../src/primitives/deadlines.ts";
import { until } from "../support/until.ts";

test("deadlines end in order, each once, and none early", async () => {
  const told: { afterMs: number; tookMs: number }[] = [];
  const startedMs = performance.now();
  const all = deadlines<{ afterMs: number }>(({ afterMs }) => {
    told.push({ afterMs, tookMs: performance.now() - startedMs });
  });
  for (const afterMs of [90, 30, 150, 30, 0]) all.add({ afterMs }, afterMs);
  await until(() => told.length === 5);
  expect(told.map(({ afterMs }) => afterMs)).toEqual([0, 30, 30, 90, 150]);
  expect(told.filter(({ afterMs, tookMs }) => tookMs < afterMs)).toEqual([]);
  expect(all.all()).toEqual([]);
});

test("a removed deadline does not end, also if one that ends in the same slot removes it", async () => {
  const told: string[] = [];
  const all = deadlines<string>((one) => {
    told.push(one);
    if (one === "first") all.add("third", 40);
  });
  all.add("first", 40);
  all.add("second", 40);
  all.add("fourth", 20);
  all.remove("second");
  all.remove("fourth");
  all.remove("of nobody");
  expect(all.all()).toEqual(["first"]);
  await until(() => told.includes("third"));
  expect(told).toEqual(["first", "third"]);
});
