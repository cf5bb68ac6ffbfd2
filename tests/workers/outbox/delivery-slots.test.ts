import { describe, expect, test } from "bun:test";
import {
  type DeliverySlots,
  deliverySlots,
  leavingOf,
  type Slot,
  serverOf,
} from "../../../src/workers/outbox/delivery-slots.ts";

/** Of an account that has one endpoint, unless told otherwise. */
const at = (server: string, accountId = "acc_1", lane = accountId) => ({ server, accountId, lane });

/** A receiver that has answered before, at once. */
function acquaint(receivers: DeliverySlots, server: string, accountId = "acc_1", nowMs = 0): void {
  receivers.tryEnter(at(server, accountId), nowMs)?.leave("answered", nowMs);
}

function enterAll(receivers: DeliverySlots, server: string, nowMs: number, accountId = "acc_1"): Slot[] {
  const entered: Slot[] = [];
  for (let slot = receivers.tryEnter(at(server, accountId), nowMs); slot; ) {
    entered.push(slot);
    slot = receivers.tryEnter(at(server, accountId), nowMs);
  }
  return entered;
}

describe("one receiver gets", () => {
  test("one delivery at a time until it has answered, then as many as each may have", () => {
    const receivers = deliverySlots({ brisk: { common: 100 }, each: 20 });
    const [first] = enterAll(receivers, "a", 0);
    expect(receivers.inHand()).toBe(1);
    first?.leave("answered", 5);
    expect(enterAll(receivers, "a", 10)).toHaveLength(20);
  });

  test("one at a time again once it was silent, until it answers", () => {
    const receivers = deliverySlots({ each: 20 });
    acquaint(receivers, "a");
    receivers.tryEnter(at("a"), 0)?.leave("silent", 15_000);
    const [probe, ...others] = enterAll(receivers, "a", 20_000);
    expect(others).toEqual([]);
    probe?.leave("answered", 20_010);
    expect(enterAll(receivers, "a", 20_020)).toHaveLength(20);
  });

  test("no more than the slots there are", () => {
    const receivers = deliverySlots({ brisk: { common: 5 }, each: 20 });
    acquaint(receivers, "a");
    const entered = enterAll(receivers, "a", 0);
    expect(entered).toHaveLength(5);
    expect(receivers.tryEnter(at("b"), 0)).toBeUndefined();
    entered[0]?.leave("answered", 1);
    entered[0]?.leave("answered", 1);
    expect(receivers.inHand()).toBe(4);
    expect(receivers.tryEnter(at("b"), 1)).toBeDefined();
    expect(receivers.tryEnter(at("c"), 1)).toBeUndefined();
  });

  test("its own slots, whatever another account has on the same host", () => {
    const receivers = deliverySlots({ brisk: { common: 100 }, each: 20 });
    acquaint(receivers, "a", "acc_1");
    acquaint(receivers, "a", "acc_2");
    expect(enterAll(receivers, "a", 0, "acc_1")).toHaveLength(20);
    expect(enterAll(receivers, "a", 0, "acc_2")).toHaveLength(20);
  });
});

describe("one account's endpoints", () => {
  const endpoint = (number: number) => at("a", "acc_1", `whk_${number}`);

  /** As many as get a slot at an endpoint. */
  function enterAt(receivers: DeliverySlots, where: Parameters<DeliverySlots["tryEnter"]>[0], nowMs = 0): Slot[] {
    const slots: Slot[] = [];
    for (let slot = receivers.tryEnter(where, nowMs); slot; slot = receivers.tryEnter(where, nowMs)) slots.push(slot);
    return slots;
  }

  test("don't know of each other on the same host: one that hangs leaves the next its slots", () => {
    const receivers = deliverySlots({ brisk: { common: 100 }, each: 20 });
    for (const number of [1, 2]) receivers.tryEnter(endpoint(number), 0)?.leave("answered", 0);
    receivers.tryEnter(endpoint(1), 0)?.leave("silent", 15_000);
    expect(enterAt(receivers, endpoint(1), 15_000)).toHaveLength(1);
    expect(enterAt(receivers, endpoint(2), 15_000)).toHaveLength(20);
  });

  test("share its slots evenly where all are quick, and leave the others the rest", () => {
    const receivers = deliverySlots({ brisk: { common: 100, ofAccount: 30 }, each: 20 });
    const endpoints = Array.from({ length: 10 }, (_, number) => endpoint(number));
    for (const where of endpoints) receivers.tryEnter(where, 0)?.leave("answered", 0);
    expect(enterAt(receivers, endpoint(0))).toHaveLength(20);
    // What came first keeps what it has, and gets no more of it than its share.
    expect(enterAt(receivers, endpoint(1))).toHaveLength(10);
    const { accounts } = receivers.shares(0);
    expect(accounts).toContainEqual({ accountId: "acc_1", pace: "brisk", inHand: 30, slots: 0 });
    expect(receivers.slotsAt(endpoint(2), 0)).toBe(0);
    expect(receivers.tryEnter(endpoint(2), 0)).toBeUndefined();
    expect(receivers.freeSlots(0)).toBe(70);
    acquaint(receivers, "b", "acc_2");
    expect(enterAt(receivers, at("b", "acc_2"))).toHaveLength(20);
  });

  test("get three each of thirty where ten have something to do", () => {
    const receivers = deliverySlots({ brisk: { common: 100, ofAccount: 30 }, each: 20 });
    const endpoints = Array.from({ length: 10 }, (_, number) => endpoint(number));
    for (const where of endpoints) receivers.tryEnter(where, 0)?.leave("answered", 0);
    for (const where of endpoints) receivers.tryEnter(where, 0);
    expect(endpoints.map((where) => receivers.slotsAt(where, 0))).toEqual(endpoints.map(() => 2));
  });

  test("that hang take their share of the waiting pool, and none of the quick ones' beside them", () => {
    const receivers = deliverySlots({
      brisk: { common: 100, ofAccount: 30 },
      waiting: { common: 200, ofAccount: 40 },
      each: 20,
    });
    acquaint(receivers, "a");
    for (let number = 0; number < 60; number += 1) receivers.tryEnter(endpoint(number), number * 250);
    // Forty have moved on; those that can't stay where they are, and the account has the rest of its share.
    expect(receivers.slotsAt(at("a"), 20_000)).toBe(10);
    acquaint(receivers, "b", "acc_2", 20_000);
    expect(enterAt(receivers, at("b", "acc_2"), 20_000)).toHaveLength(20);
  });
});

describe("a server that takes no connection", () => {
  test("is tried once at a time, by all accounts together", () => {
    const receivers = deliverySlots({ each: 20 });
    for (const account of ["acc_1", "acc_2"]) acquaint(receivers, "a", account);
    receivers.tryEnter(at("a", "acc_1"), 0)?.leave("unreached", 1);
    const probe = receivers.tryEnter(at("a", "acc_2"), 2);
    expect(probe).toBeDefined();
    expect(receivers.tryEnter(at("a", "acc_1"), 2)).toBeUndefined();
    expect(receivers.tryEnter(at("a", "acc_2"), 2)).toBeUndefined();
    expect(receivers.tryEnter(at("b", "acc_1"), 2)).toBeDefined();
    probe?.leave("answered", 3);
    expect(enterAll(receivers, "a", 4, "acc_2")).toHaveLength(20);
  });

  test("stays down after an attempt that taught nothing", () => {
    const receivers = deliverySlots({ each: 20 });
    acquaint(receivers, "a");
    receivers.tryEnter(at("a"), 0)?.leave("unreached", 1);
    receivers.tryEnter(at("a"), 2)?.leave("unknown", 3);
    expect(enterAll(receivers, "a", 4)).toHaveLength(1);
  });
});

describe("a receiver that answers never waits for those that don't", () => {
  test("1,000 strangers that hang leave the brisk pool within a second", () => {
    const receivers = deliverySlots({ brisk: { common: 250 }, waiting: { common: 1000 }, slowAfterMs: 250 });
    acquaint(receivers, "good");
    const strangers = Array.from({ length: 1000 }, (_, index) => `hanging-${index}`);
    for (let nowMs = 0; nowMs < 1000; nowMs += 250) {
      const waiting = strangers.splice(0, 250);
      expect(waiting.every((name) => receivers.tryEnter(at(name, name), nowMs) !== undefined)).toBe(true);
      expect(receivers.tryEnter(at("good"), nowMs)).toBeUndefined();
      expect(receivers.slotInMs(nowMs)).toBe(250);
      expect(receivers.slotInMs(nowMs + 100)).toBe(150);
    }
    expect(enterAll(receivers, "good", 1000)).toHaveLength(20);
    expect(receivers.inHand()).toBe(1020);
  });

  test("1,000 known to be silent or down take no slot in the brisk pool, however often they come", () => {
    const receivers = deliverySlots({ brisk: { common: 10 }, each: 10, waiting: { common: 100 } });
    const dead = Array.from({ length: 1000 }, (_, index) => `dead-${index}`);
    for (const [index, name] of dead.entries()) {
      receivers.tryEnter(at(name, name), 0)?.leave(index % 2 === 0 ? "silent" : "unreached", 1);
    }
    const entered = dead.filter((name) => receivers.tryEnter(at(name, name), 10) !== undefined);
    // The last quarter of the waiting pool is for those that answer slowly.
    expect(entered).toHaveLength(75);
    acquaint(receivers, "good", "acc_1", 10);
    expect(enterAll(receivers, "good", 10)).toHaveLength(10);
  });

  test("those that answer slowly wait in the other pool too, and may have each their share", () => {
    const receivers = deliverySlots({
      brisk: { common: 10, ofAccount: 20 },
      each: 20,
      waiting: { common: 100 },
      slowAfterMs: 250,
    });
    receivers.tryEnter(at("slow"), 0)?.leave("answered", 300);
    expect(enterAll(receivers, "slow", 300)).toHaveLength(20);
    acquaint(receivers, "quick", "acc_1", 300);
    expect(enterAll(receivers, "quick", 300)).toHaveLength(10);
  });

  test.each([2, 5, 10])("%d accounts whose endpoints hang leave slots of both pools to a further one", (attackers) => {
    const receivers = deliverySlots();
    for (let nowMs = 0; nowMs < 15_000; nowMs += 250) {
      for (let number = 0; number < attackers; number += 1) {
        const account = `acc_${number}`;
        for (let count = 0; count < 20; count += 1) {
          receivers.tryEnter(at(`hanging-${nowMs}-${count}`, account, `whk_${nowMs}_${count}`), nowMs);
        }
      }
    }
    acquaint(receivers, "good", "acc_good", 15_000);
    expect(receivers.freeSlots(15_000)).toBeGreaterThan(0);
    expect(enterAll(receivers, "good", 15_000, "acc_good").length).toBeGreaterThanOrEqual(5);
  });

  test("a full waiting pool keeps the slow where they are, and says that it can't tell when there is a slot", () => {
    const receivers = deliverySlots({ brisk: { common: 2 }, waiting: { common: 1 }, slowAfterMs: 250 });
    for (const name of ["a", "b"]) receivers.tryEnter(at(name), 0);
    expect(receivers.tryEnter(at("c"), 250)).toBeDefined();
    expect(receivers.tryEnter(at("d"), 500)).toBeUndefined();
    expect(receivers.slotInMs(500)).toBeUndefined();
  });
});

test("a receiver is forgotten when too many others came, unless it has something in hand", () => {
  const receivers = deliverySlots({ each: 5, remembered: 2 });
  acquaint(receivers, "idle");
  acquaint(receivers, "busy");
  const busy = enterAll(receivers, "busy", 0);
  acquaint(receivers, "new");
  expect(enterAll(receivers, "idle", 0)).toHaveLength(1);
  for (const slot of busy) slot.leave("answered", 1);
  expect(enterAll(receivers, "busy", 2)).toHaveLength(5);
});

test("a server is a scheme, a host and a port", () => {
  expect(serverOf("https://EXAMPLE.com/a?b")).toBe("https://example.com:443");
  expect(serverOf("http://example.com.:81/")).toBe("http://example.com:81");
  expect(serverOf("https://[2606:4700::1]/")).toBe("https://2606:4700::1:443");
});

test("the state of a receiver after a reply", () => {
  const answered = { kind: "answered", status: 500, body: "", retryAfter: undefined, latencyMs: 1 } as const;
  expect(leavingOf(answered)).toBe("answered");
  expect(leavingOf({ kind: "no_answer", error: "", latencyMs: 1, connected: true })).toBe("silent");
  expect(leavingOf({ kind: "no_answer", error: "", latencyMs: 1, connected: false })).toBe("unreached");
  expect(leavingOf({ kind: "refused_address", address: "", error: "", latencyMs: 1 })).toBe("unknown");
});
