import { describe, expect, test } from "bun:test";
import { type ClockReading, nextOffset } from "../../src/domain/clock-offset.ts";

/** Our own clock is at 1,000 at the request, and the other clock is 500,000 ahead. */
const reading = (own: Partial<ClockReading> = {}) => ({
  readMs: 501_001,
  requestedMs: 1000,
  respondedMs: 1003,
  ...own,
});

describe("the offset of another clock", () => {
  const rows: [what: string, known: number | undefined, look: ClockReading, offset: number][] = [
    ["is the middle of what the first look leaves open", undefined, reading(), 500_000],
    ["stays as it is within what a look leaves open", 499_998.5, reading(), 499_998.5],
    ["learns nothing from an answer that took long", 500_000, reading({ respondedMs: 4000 }), 500_000],
    ["moves to the nearest that a look allows, forwards", 499_000, reading(), 499_998],
    ["and backwards", 500_300, reading(), 500_002],
    ["follows a clock that was put back by an hour", 500_000, reading({ readMs: 501_001 - 3_600_000 }), -3_099_998],
  ];
  test.each(rows)("%s", (_what, known, look, offset) => expect(nextOffset(known, look)).toBe(offset));
});
