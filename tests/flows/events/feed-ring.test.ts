import { describe, expect, test } from "bun:test";
import { comparePositions, type LogPosition, startOfLog } from "../../../src/domain/events/log-position.ts";
import { feedRing } from "../../../src/flows/events/feed-ring.ts";
import type { FeedEvent } from "../../../src/store/events/feeds.ts";

function event(number: number): FeedEvent {
  const id = `evt_${String(number % 7)}${number}`;
  return {
    accountId: "acc_1",
    type: "message.received",
    inboxId: "inb_1",
    externalId: null,
    isAutomated: false,
    id,
    writtenBy: String(number),
  };
}

/** The events of the ring that a reader at this position gets. */
function behind(ring: ReturnType<typeof feedRing>, position: LogPosition): string[] | undefined {
  const from = ring.numberBehind(position);
  if (from === undefined) return undefined;
  const found: string[] = [];
  for (let at = from; ; at += 1) {
    const next = ring.at(at);
    if (next === undefined) return found;
    found.push(next.writtenBy);
  }
}

describe("The ring of a feed", () => {
  test("returns the events after each position, and none from before its floor", () => {
    const ring = feedRing(startOfLog, 10);
    for (let number = 1; number <= 100; number += 1) {
      ring.add([event(number)]);
      for (let position = 0; position <= number; position += 1) {
        const at = position === 0 ? startOfLog : event(position);
        const isWithin = comparePositions(at, ring.floor) >= 0;
        const wanted = Array.from({ length: number - position }, (_, index) => String(position + index + 1));
        expect(behind(ring, at)).toEqual(isWithin ? wanted : undefined);
      }
      expect(number - Number(ring.floor.writtenBy)).toBeLessThanOrEqual(11);
      expect(number - Number(ring.floor.writtenBy)).toBeGreaterThanOrEqual(Math.min(number, 10));
    }
  });

  test("accepts a position between those in the log", () => {
    const ring = feedRing(startOfLog, 10);
    ring.add([event(1), event(3)]);
    expect(behind(ring, { id: "evt_z", writtenBy: "1" })).toEqual(["3"]);
    expect(behind(ring, event(2))).toEqual(["3"]);
    expect(behind(ring, event(9))).toEqual([]);
  });
});

test("Positions are ordered by transactions as numbers, then by ids as bytes", () => {
  const inOrder = [
    startOfLog,
    { writtenBy: "9", id: "evt_b" },
    { writtenBy: "10", id: "evt_Z" },
    { writtenBy: "10", id: "evt_a" },
    { writtenBy: "18446744073709551615", id: "" },
  ];
  for (const [at, one] of inOrder.entries())
    for (const [other, another] of inOrder.entries())
      expect(Math.sign(comparePositions(one, another))).toBe(Math.sign(at - other));
});
