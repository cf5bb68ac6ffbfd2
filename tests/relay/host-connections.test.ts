import { describe, expect, test } from "bun:test";
import { hostConnections } from "../../src/relay/host-connections.ts";

/** The connections to hosts, with a clock that the test moves. */
function connections() {
  const clock = { ms: 0 };
  const hosts = hostConnections(() => clock.ms);
  /** Takes up to `count` connections for an account, and returns those that it got. */
  const enter = (count: number, address: string, accountId: string) =>
    Array.from({ length: count }, () => hosts.enter(address, accountId)).flatMap((each) => each ?? []);
  return { clock, hosts, enter };
}

describe("a mail host gets", () => {
  test("16 connections of one account, and one of each other account up to 20", () => {
    const { hosts, enter } = connections();
    expect(enter(100, "192.0.2.1", "acc_1")).toHaveLength(16);
    expect(["acc_2", "acc_3", "acc_4", "acc_5", "acc_6"].map((each) => enter(9, "192.0.2.1", each).length)).toEqual([
      1, 1, 1, 1, 0,
    ]);
    expect(hosts.hasRoom("192.0.2.1", "acc_7")).toBe(false);
  });

  test("no more if its address is written differently, or if it has several addresses in one network", () => {
    const { enter } = connections();
    enter(100, "192.0.2.1", "acc_1");
    expect(enter(1, "::ffff:192.0.2.1", "acc_1")).toHaveLength(0);
    expect(enter(1, "192.0.2.2", "acc_1")).toHaveLength(1);
    enter(100, "2001:db8::1", "acc_1");
    expect(enter(1, "2001:db8::2", "acc_1")).toHaveLength(0);
    expect(enter(1, "2001:db8:0:1::2", "acc_1")).toHaveLength(1);
  });

  test("another one when one ends", () => {
    const { enter, hosts } = connections();
    const [first] = enter(16, "192.0.2.1", "acc_1");
    expect(hosts.hasRoom("192.0.2.1", "acc_1")).toBe(false);
    first?.leave();
    first?.leave();
    expect(enter(9, "192.0.2.1", "acc_1")).toHaveLength(1);
  });
});

test("mails that find no connection are retried one after another, for each account separately", () => {
  const { clock, hosts } = connections();
  const againOf = (accountId: string) => hosts.againInMs("192.0.2.1", accountId);
  expect([againOf("acc_1"), againOf("acc_1"), againOf("acc_1"), againOf("acc_2")]).toEqual([1000, 1050, 1100, 1000]);
  clock.ms = 60_000;
  expect(againOf("acc_1")).toBe(1000);
});
