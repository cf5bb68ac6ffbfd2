import { expect, test } from "bun:test";
import { formatAgo, formatDue } from "../../src/console/format.ts";

const now = new Date("2026-03-21T10:05:00Z");
const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);

test.each([
  ["a moment ago", -3, "just now", "just now"],
  ["some seconds ago", -22, "22 s ago", "22 s ago"],
  ["some minutes ago", -250, "4 min ago", "4 min ago"],
  ["some hours ago", -7_500, "2 h 5 min ago", "2 h 5 min ago"],
  ["ahead of this clock", 22, "just now", "in 22 s"],
  ["far ahead of this clock", 7_500, "just now", "in 2 h 5 min"],
])("a time %s", (_, seconds, ago, due) => {
  expect([formatAgo(after(seconds), now), formatDue(after(seconds), now)]).toEqual([ago, due]);
});
