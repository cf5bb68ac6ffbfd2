import { describe, expect, test } from "bun:test";
import {
  type Destinations,
  destinationOf,
  destinations,
  leavingOf,
  type Place,
} from "../../../src/workers/outbox/destinations.ts";

const at = (destination: string, accountId = "acc_1") => ({ destination, accountId });

/** A receiver that has answered before, at once. */
function acquaint(places: Destinations, destination: string, accountId = "acc_1", nowMs = 0): void {
  places.tryEnter(at(destination, accountId), nowMs)?.leave("answered", nowMs);
}

function enterAll(places: Destinations, destination: string, nowMs: number, accountId = "acc_1"): Place[] {
  const entered: Place[] = [];
  for (let place = places.tryEnter(at(destination, accountId), nowMs); place; ) {
    entered.push(place);
    place = places.tryEnter(at(destination, accountId), nowMs);
  }
  return entered;
}

describe("one receiver gets", () => {
  test("one delivery at a time until it has answered, then as many as each may have", () => {
    const places = destinations({ total: 100, each: 20 });
    const [first] = enterAll(places, "a", 0);
    expect(places.inHand()).toBe(1);
    first?.leave("answered", 5);
    expect(enterAll(places, "a", 10)).toHaveLength(20);
  });

  test("one at a time again once it was silent, until it answers", () => {
    const places = destinations({ each: 20 });
    acquaint(places, "a");
    places.tryEnter(at("a"), 0)?.leave("silent", 15_000);
    const [probe, ...others] = enterAll(places, "a", 20_000);
    expect(others).toEqual([]);
    probe?.leave("answered", 20_010);
    expect(enterAll(places, "a", 20_020)).toHaveLength(20);
  });

  test("no more than the places there are", () => {
    const places = destinations({ total: 5, each: 20 });
    acquaint(places, "a");
    const entered = enterAll(places, "a", 0);
    expect(entered).toHaveLength(5);
    expect(places.tryEnter(at("b"), 0)).toBeUndefined();
    entered[0]?.leave("answered", 1);
    entered[0]?.leave("answered", 1);
    expect(places.inHand()).toBe(4);
    expect(places.tryEnter(at("b"), 1)).toBeDefined();
    expect(places.tryEnter(at("c"), 1)).toBeUndefined();
  });

  test("its own places, whatever another account has on the same host", () => {
    const places = destinations({ total: 100, each: 20 });
    acquaint(places, "a", "acc_1");
    acquaint(places, "a", "acc_2");
    expect(enterAll(places, "a", 0, "acc_1")).toHaveLength(20);
    expect(enterAll(places, "a", 0, "acc_2")).toHaveLength(20);
  });
});

describe("a destination that takes no connection", () => {
  test("is tried once at a time, by all accounts together", () => {
    const places = destinations({ each: 20 });
    for (const account of ["acc_1", "acc_2"]) acquaint(places, "a", account);
    places.tryEnter(at("a", "acc_1"), 0)?.leave("unreached", 1);
    const probe = places.tryEnter(at("a", "acc_2"), 2);
    expect(probe).toBeDefined();
    expect(places.tryEnter(at("a", "acc_1"), 2)).toBeUndefined();
    expect(places.tryEnter(at("a", "acc_2"), 2)).toBeUndefined();
    expect(places.tryEnter(at("b", "acc_1"), 2)).toBeDefined();
    probe?.leave("answered", 3);
    expect(enterAll(places, "a", 4, "acc_2")).toHaveLength(20);
  });

  test("stays down after an attempt that taught nothing", () => {
    const places = destinations({ each: 20 });
    acquaint(places, "a");
    places.tryEnter(at("a"), 0)?.leave("unreached", 1);
    places.tryEnter(at("a"), 2)?.leave("unknown", 3);
    expect(enterAll(places, "a", 4)).toHaveLength(1);
  });
});

describe("a receiver that answers never waits for those that don't", () => {
  test("1,000 strangers that hang leave the brisk room within a second", () => {
    const places = destinations({ total: 250, waiting: 1000, slowAfterMs: 250 });
    acquaint(places, "good");
    const strangers = Array.from({ length: 1000 }, (_, index) => `hanging-${index}`);
    for (let nowMs = 0; nowMs < 1000; nowMs += 250) {
      const waiting = strangers.splice(0, 250);
      expect(waiting.every((name) => places.tryEnter(at(name), nowMs) !== undefined)).toBe(true);
      expect(places.tryEnter(at("good"), nowMs)).toBeUndefined();
      expect(places.roomInMs(nowMs)).toBe(250);
      expect(places.roomInMs(nowMs + 100)).toBe(150);
    }
    expect(enterAll(places, "good", 1000)).toHaveLength(20);
    expect(places.inHand()).toBe(1020);
  });

  test("1,000 known to be silent or down take no place in the brisk room, however often they come", () => {
    const places = destinations({ total: 10, each: 10, waiting: 100 });
    const dead = Array.from({ length: 1000 }, (_, index) => `dead-${index}`);
    for (const [index, name] of dead.entries()) {
      places.tryEnter(at(name), 0)?.leave(index % 2 === 0 ? "silent" : "unreached", 1);
    }
    const entered = dead.filter((name) => places.tryEnter(at(name), 10) !== undefined);
    // The last quarter of the waiting room is for those that answer slowly.
    expect(entered).toHaveLength(75);
    acquaint(places, "good", "acc_1", 10);
    expect(enterAll(places, "good", 10)).toHaveLength(10);
  });

  test("those that answer slowly wait in the other room too, and may have each their share", () => {
    const places = destinations({ total: 10, each: 20, waiting: 100, slowAfterMs: 250 });
    places.tryEnter(at("slow"), 0)?.leave("answered", 300);
    expect(enterAll(places, "slow", 300)).toHaveLength(20);
    acquaint(places, "quick", "acc_1", 300);
    expect(enterAll(places, "quick", 300)).toHaveLength(10);
  });

  test("a full waiting room keeps the slow where they are, and says that it can't tell when there is room", () => {
    const places = destinations({ total: 2, waiting: 1, slowAfterMs: 250 });
    for (const name of ["a", "b"]) places.tryEnter(at(name), 0);
    expect(places.tryEnter(at("c"), 250)).toBeDefined();
    expect(places.tryEnter(at("d"), 500)).toBeUndefined();
    expect(places.roomInMs(500)).toBeUndefined();
  });
});

test("a receiver is forgotten when too many others came, unless it has something in hand", () => {
  const places = destinations({ each: 5, remembered: 2 });
  acquaint(places, "idle");
  acquaint(places, "busy");
  const busy = enterAll(places, "busy", 0);
  acquaint(places, "new");
  expect(enterAll(places, "idle", 0)).toHaveLength(1);
  for (const place of busy) place.leave("answered", 1);
  expect(enterAll(places, "busy", 2)).toHaveLength(5);
});

test("a destination is a scheme, a host and a port", () => {
  expect(destinationOf("https://EXAMPLE.com/a?b")).toBe("https://example.com:443");
  expect(destinationOf("http://example.com.:81/")).toBe("http://example.com:81");
  expect(destinationOf("https://[2606:4700::1]/")).toBe("https://2606:4700::1:443");
});

test("what a reply says of its receiver", () => {
  const answered = { kind: "answered", status: 500, body: "", retryAfter: undefined, latencyMs: 1 } as const;
  expect(leavingOf(answered)).toBe("answered");
  expect(leavingOf({ kind: "no_answer", error: "", latencyMs: 1, connected: true })).toBe("silent");
  expect(leavingOf({ kind: "no_answer", error: "", latencyMs: 1, connected: false })).toBe("unreached");
  expect(leavingOf({ kind: "refused_address", address: "", error: "", latencyMs: 1 })).toBe("unknown");
});
