import { describe, expect, test } from "bun:test";
import { beginningOfIds, idMaker, instantOfId } from "../../src/domain/ids.ts";
import {
  boundAt,
  endOf,
  endsBefore,
  firstEnd,
  intervalOf,
  missingOf,
  nextStart,
  type Partition,
  type PartitionInterval,
  startOf,
} from "../../src/domain/partitions.ts";

const at = (day: string) => new Date(day.length === 10 ? `${day}T00:00:00Z` : day);
const between = (from: string | undefined, to: string): Partition => ({
  name: `until ${to}`,
  from: from && boundAt("events", at(from)),
  to: boundAt("events", at(to)),
});

describe("the time of a partition", () => {
  const rows: [interval: PartitionInterval, instant: string, start: string, next: string][] = [
    ["day", "2026-03-21T10:05:00Z", "2026-03-21", "2026-03-22"],
    ["day", "2026-12-31T23:59:59.999Z", "2026-12-31", "2027-01-01"],
    // A Saturday, a Sunday and a Monday.
    ["week", "2026-03-21T10:05:00Z", "2026-03-16", "2026-03-23"],
    ["week", "2026-03-22T10:05:00Z", "2026-03-16", "2026-03-23"],
    ["week", "2026-03-23", "2026-03-23", "2026-03-30"],
    ["week", "2026-03-01T10:05:00Z", "2026-02-23", "2026-03-02"],
    ["month", "2026-03-21T10:05:00Z", "2026-03-01", "2026-04-01"],
    ["month", "2026-12-01", "2026-12-01", "2027-01-01"],
  ];
  test.each(rows)("by %s at %s is from %s to %s", (interval, instant, start, next) => {
    expect(startOf(interval, at(instant))).toEqual(at(start));
    expect(nextStart(interval, at(instant))).toEqual(at(next));
  });

  test("is what the last one shows", () => {
    expect(intervalOf([between(undefined, "2026-03-23")])).toBeUndefined();
    expect(intervalOf([between(undefined, "2026-03-23"), between("2026-03-23", "2026-03-24")])).toBe("day");
    expect(intervalOf([between("2026-03-23", "2026-03-30")])).toBe("week");
    expect(intervalOf([between("2026-02-01", "2026-03-01")])).toBe("month");
    expect(intervalOf([between("2026-03-01", "2026-04-01")])).toBe("month");
  });
});

test.each<[PartitionInterval, string]>([
  ["day", "2026-03-23"],
  ["week", "2026-03-23"],
  ["month", "2026-04-01"],
])("the first one, by %s, ends at a boundary that is at least a day away", (interval, end) => {
  expect(firstEnd(interval, at("2026-03-21T10:05:00Z"))).toEqual(at(end));
  expect(firstEnd(interval, at(end)).getTime() - at(end).getTime()).toBeGreaterThanOrEqual(86_400_000);
});

test("those that are missing follow each other up to some time ahead, and then none is", () => {
  const now = at("2026-03-21T10:05:00Z");
  const missing = missingOf([between("2026-03-22", "2026-03-23")], now);
  expect(missing.map(({ from }) => from)).toEqual(
    ["23", "24", "25", "26", "27", "28"].map((day) => at(`2026-03-${day}`)),
  );
  for (const [index, { to }] of missing.entries()) expect(missing[index + 1]?.from ?? at("2026-03-29")).toEqual(to);
  expect(missingOf([between("2026-03-28", "2026-03-29")], now)).toEqual([]);
  const months = missingOf([between("2026-03-01", "2026-04-01")], now);
  expect(months.map(({ to }) => to)).toEqual([at("2026-05-01"), at("2026-06-01")]);
  // The service was stopped for months.
  expect(missingOf([between("2025-12-01", "2026-01-01")], now)).toHaveLength(5);
  expect(missingOf([], now)).toEqual([]);
});

test("old ones end before an instant, and the first one needs another to become one with", () => {
  const first = between(undefined, "2026-03-23");
  const all = [first, between("2026-03-23", "2026-03-24"), between("2026-03-24", "2026-03-25")];
  expect(endsBefore(all, at("2026-03-24T23:59:59Z"))).toEqual([at("2026-03-24")]);
  expect(endsBefore(all, at("2026-03-25"))).toEqual([at("2026-03-24"), at("2026-03-25")]);
  expect(endsBefore([first], at("2026-04-01"))).toEqual([]);
  expect(endOf(all)).toEqual(at("2026-03-25"));
});

test("a bound is above all ids of earlier instants and below all others", () => {
  const newId = idMaker((length) => new Uint8Array(length));
  const bound = beginningOfIds("msg", at("2026-03-23"));
  expect(newId("msg", new Date(at("2026-03-23").getTime() - 1)) < bound).toBe(true);
  expect(newId("msg", at("2026-03-23")) > bound).toBe(true);
  expect(instantOfId(bound)).toEqual(at("2026-03-23"));
});
