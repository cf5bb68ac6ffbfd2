import { describe, expect, test } from "bun:test";
import type { Leave } from "../../../src/workers/outbox/lanes.ts";
import { type RelayLanesOptions, relayLanes } from "../../../src/workers/outbox/relay-lanes.ts";

/** Slots by domain, and a clock that is told. */
function slotsOf(options: Partial<RelayLanesOptions> = {}) {
  let nowMs = 0;
  const recovered: string[][] = [];
  const lanes = relayLanes({
    serverOf: (lane) => lane,
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

/** Accounts with slots left where no more may start. */
const fullAt = (lanes: ReturnType<typeof slotsOf>["lanes"]) =>
  lanes.shares?.().accounts.flatMap(({ accountId, pace, slots }) => (slots === 0 ? `${accountId} ${pace}` : [])) ?? [];

describe("mail to hosts that don't answer", () => {
  test("takes no more than its account's share of the slots of the quick", () => {
    const { lanes, enter } = slotsOf({ brisk: { common: 80, ofAccount: 50 } });
    expect(enter(100, "acc_1", tarpit)).toHaveLength(50);
    expect(fullAt(lanes)).toEqual(["acc_1 brisk"]);
    expect(lanes.enter({ lane: "good.example", accountId: "acc_1" })).toBeUndefined();
    expect(enter(100, "acc_2", (index) => `good-${index}.example`)).toHaveLength(30);
  });

  test("moves on after two seconds, and from then on starts apart", () => {
    const { lanes, enter, pass } = slotsOf({ brisk: { common: 10 }, waiting: { common: 100 } });
    const hanging = enter(10, "acc_1", tarpit);
    expect([lanes.strangers(), lanes.slotInMs()]).toEqual([false, 2000]);
    pass(1999);
    expect([lanes.strangers(), lanes.slotInMs()]).toEqual([false, 1]);
    pass(1);
    expect([lanes.strangers(), lanes.free(), fullAt(lanes)]).toEqual([true, 10, []]);

    pass(300_000);
    for (const leave of hanging) leave("unreached");
    expect([lanes.pace?.(tarpit(0)), lanes.pace?.("good.example")]).toEqual(["doubtful", "brisk"]);
    expect(enter(10, "acc_1", tarpit)).toHaveLength(10);
    expect(lanes.free()).toBe(10);
  });

  test("leaves a quarter of the waiting pool to those that answer, if slowly", () => {
    const { lanes, enter, pass } = slotsOf({ brisk: { common: 100 }, waiting: { common: 40 } });
    const slow = lanes.enter({ lane: "slow.example", accountId: "acc_1" });
    for (const leave of enter(50, "acc_1", tarpit)) leave("unreached");
    pass(5000);
    slow?.("answered");
    expect(enter(50, "acc_1", tarpit)).toHaveLength(30);
    expect([lanes.slots("slow.example"), lanes.pace?.("slow.example")]).toEqual([10, "slow"]);
    expect(lanes.slots("tarpit-49.example")).toBe(0);
  });

  test.each([2, 5])("of %d accounts leaves slots of both pools to a further one", (attackers) => {
    const { lanes, enter, pass } = slotsOf();
    for (let second = 0; second < 60; second += 1) {
      for (let number = 0; number < attackers; number += 1) {
        enter(20, `acc_${number}`, (index) => `tarpit-${number}-${second}-${index}.example`);
      }
      pass(1000);
    }
    expect(lanes.free()).toBeGreaterThan(0);
    const good = (index: number) => `good-${index}.example`;
    for (const leave of enter(4, "acc_good", good)) leave("answered");
    expect(enter(4, "acc_good", good)).toHaveLength(4);
    // Those that turn out slow move on, and the next ones have their slots.
    pass(2000);
    expect(enter(4, "acc_good", (index) => `better-${index}.example`)).toHaveLength(4);
  });

  test("of two accounts holds back none of their own mail for longer than its attempts last", () => {
    const { enter, pass } = slotsOf();
    const hanging = ["acc_1", "acc_2"].flatMap((accountId) => {
      const first = enter(200, accountId, tarpit);
      pass(2000);
      return [...first, ...enter(200, accountId, tarpit)];
    });
    expect(enter(1, "acc_1", () => "good.example")).toHaveLength(0);
    for (const leave of hanging) leave("unreached");
    expect(enter(1, "acc_1", () => "good.example")).toHaveLength(1);
  });
});

describe("a claim asks for no more than", () => {
  test("each account may still start, so that nothing has to be given back", () => {
    const { lanes, enter } = slotsOf({ brisk: { common: 80, ofAccount: 50, kept: 20 }, each: 80 });
    expect([lanes.free(), lanes.shares?.().othersSlots.brisk]).toEqual([80, 50]);
    enter(40, "acc_1", tarpit);
    const share = { accountId: "acc_1", pace: "brisk" as const };
    expect(lanes.shares?.().accounts).toEqual([{ ...share, inHand: 40, slots: 10 }]);
    expect([lanes.free(), lanes.shares?.().othersSlots.brisk]).toEqual([40, 40]);
    enter(40, "acc_2", tarpit);
    // The slots that are kept go to accounts with few alone.
    expect(fullAt(lanes)).toEqual(["acc_1 brisk", "acc_2 brisk"]);
    expect([lanes.free(), lanes.shares?.().othersSlots.brisk]).toEqual([10, 2]);
  });

  test("the one relay takes, where there is one", () => {
    const { lanes, enter } = slotsOf({ serverOf: () => "relay.example:25" });
    expect(enter(100, "acc_1", tarpit)).toHaveLength(20);
    expect([lanes.free() > 0, lanes.strangers(), lanes.slots(tarpit(0))]).toEqual([true, false, 0]);
  });
});

test("a server that is down gets one attempt at a time, and twice as many with each answer", () => {
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
