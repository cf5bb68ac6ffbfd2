import { describe, expect, test } from "bun:test";
import type { Leave } from "../../../src/workers/outbox/lanes.ts";
import { type RelayLanesOptions, relayLanes } from "../../../src/workers/outbox/relay-lanes.ts";

/** Slots by domain, and a clock that is told. */
function slotsOf(options: Partial<RelayLanesOptions> = {}) {
  let nowMs = 0;
  const recovered: string[][] = [];
  const lanes = relayLanes({
    destinationOf: (lane) => lane,
    onRecovery: (answering) => void recovered.push(answering),
    nowMs: () => nowMs,
    ...options,
  });
  /** As many as get a slot, of so many domains. */
  function enter(count: number, accountId: string, domain: (index: number) => string): Leave[] {
    const leaves = Array.from({ length: count }, (_, index) => lanes.enter({ lane: domain(index), accountId }));
    return leaves.flatMap((leave) => leave ?? []);
  }
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { lanes, enter, pass, recovered };
}

const tarpit = (index: number) => `tarpit-${index}.example`;

describe("mail to hosts that don't answer", () => {
  test("takes no more than its account's share of the slots of the quick", () => {
    const { lanes, enter } = slotsOf({ brisk: 80, ofAccount: 50 });
    expect(enter(100, "acc_1", tarpit)).toHaveLength(50);
    expect(lanes.fullAccounts?.()).toEqual(["acc_1"]);
    expect(lanes.enter({ lane: "good.example", accountId: "acc_1" })).toBeUndefined();
    expect(enter(100, "acc_2", (index) => `good-${index}.example`)).toHaveLength(30);
  });

  test("moves on after two seconds, and from then on starts apart", () => {
    const { lanes, enter, pass } = slotsOf({ brisk: 10, ofAccount: 10, waiting: 100 });
    const hanging = enter(10, "acc_1", tarpit);
    expect([lanes.strangers(), lanes.slotInMs()]).toEqual([false, 2000]);
    pass(1999);
    expect([lanes.strangers(), lanes.slotInMs()]).toEqual([false, 1]);
    pass(1);
    expect([lanes.strangers(), lanes.free(), lanes.fullAccounts?.()]).toEqual([true, 10, []]);

    pass(300_000);
    for (const leave of hanging) leave("unreached");
    expect(enter(10, "acc_1", tarpit)).toHaveLength(10);
    expect(lanes.free()).toBe(10);
  });

  test("leaves a quarter of the waiting pool to those that answer, if slowly", () => {
    const { lanes, enter, pass } = slotsOf({ brisk: 100, ofAccount: 100, waiting: 40 });
    const slow = lanes.enter({ lane: "slow.example", accountId: "acc_1" });
    for (const leave of enter(50, "acc_1", tarpit)) leave("unreached");
    pass(5000);
    slow?.("answered");
    expect(enter(50, "acc_1", tarpit)).toHaveLength(30);
    expect(lanes.slots("slow.example")).toBe(10);
    expect(lanes.slots("tarpit-49.example")).toBe(0);
  });
});

describe("a claim asks for no more than", () => {
  test("any one account may still start, so that nothing has to be given back", () => {
    const { lanes, enter } = slotsOf({ brisk: 80, ofAccount: 50, each: 80 });
    expect(lanes.free()).toBe(50);
    enter(40, "acc_1", tarpit);
    expect(lanes.free()).toBe(10);
    enter(10, "acc_1", (index) => `more-${index}.example`);
    // The account has its share: claims pass it by, and the rest is for the others.
    expect(lanes.free()).toBe(30);
  });

  test("the one relay takes, where there is one", () => {
    const { lanes, enter } = slotsOf({ destinationOf: () => "relay.example:25" });
    expect(enter(100, "acc_1", tarpit)).toHaveLength(20);
    expect([lanes.free() > 0, lanes.strangers(), lanes.slots(tarpit(0))]).toEqual([true, false, 0]);
  });
});

test("a destination that is down gets one attempt at a time, and twice as many with each answer", () => {
  const { lanes, recovered } = slotsOf({ each: 8 });
  const enter = () => lanes.enter({ lane: "a.example", accountId: "acc_1" });
  enter()?.("unreached");
  const probe = enter();
  expect([lanes.slots("a.example"), enter()]).toEqual([0, undefined]);
  probe?.("answered");
  expect(recovered).toEqual([["a.example"]]);
  expect(lanes.slots("a.example")).toBe(2);
  enter()?.("answered");
  enter()?.("answered");
  expect(lanes.slots("a.example")).toBe(8);
});
