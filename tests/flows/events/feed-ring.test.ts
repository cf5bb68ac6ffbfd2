import { describe, expect, test } from "bun:test";
import { comparePlaces, type LogPlace, startOfLog } from "../../../src/domain/events/log-place.ts";
import { feedRing } from "../../../src/flows/events/feed-ring.ts";
import type { FeedEvent } from "../../../src/store/events/feeds.ts";

function event(number: number): FeedEvent {
  const id = `evt_${String(number % 7)}${number}`;
  return {
    accountId: "acc_1",
    type: "message.received",
    inboxId: "inb_1",
    isAutomated: false,
    id,
    writtenBy: String(number),
  };
}

/** All that a reader at a place is given. */
function behind(ring: ReturnType<typeof feedRing>, place: LogPlace): string[] | undefined {
  const from = ring.numberBehind(place);
  if (from === undefined) return undefined;
  const found: string[] = [];
  for (let at = from; ; at += 1) {
    const next = ring.at(at);
    if (next === undefined) return found;
    found.push(next.writtenBy);
  }
}

describe("The ring of a feed", () => {
  test("gives from each place what lies behind it, and nothing from before its floor", () => {
    const ring = feedRing(startOfLog, 10);
    for (let number = 1; number <= 100; number += 1) {
      ring.add([event(number)]);
      for (let place = 0; place <= number; place += 1) {
        const at = place === 0 ? startOfLog : event(place);
        const isWithin = comparePlaces(at, ring.floor) >= 0;
        const wanted = Array.from({ length: number - place }, (_, index) => String(place + index + 1));
        expect(behind(ring, at)).toEqual(isWithin ? wanted : undefined);
      }
      expect(number - Number(ring.floor.writtenBy)).toBeLessThanOrEqual(11);
      expect(number - Number(ring.floor.writtenBy)).toBeGreaterThanOrEqual(Math.min(number, 10));
    }
  });

  test("takes a place that the log has not for one between those that it has", () => {
    const ring = feedRing(startOfLog, 10);
    ring.add([event(1), event(3)]);
    expect(behind(ring, { id: "evt_z", writtenBy: "1" })).toEqual(["3"]);
    expect(behind(ring, event(2))).toEqual(["3"]);
    expect(behind(ring, event(9))).toEqual([]);
  });
});

test("Places are in the order of transactions, as numbers, and then of ids as bytes", () => {
  const inOrder = [
    startOfLog,
    { writtenBy: "9", id: "evt_b" },
    { writtenBy: "10", id: "evt_Z" },
    { writtenBy: "10", id: "evt_a" },
    { writtenBy: "18446744073709551615", id: "" },
  ];
  for (const [at, one] of inOrder.entries())
    for (const [other, another] of inOrder.entries())
      expect(Math.sign(comparePlaces(one, another))).toBe(Math.sign(at - other));
});
