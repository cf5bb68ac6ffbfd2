import { describe, expect, test } from "bun:test";
import { hostConnections } from "../../src/relay/host-connections.ts";

/** Connections to hosts, and a clock that moves when told. */
function connections() {
  const clock = { ms: 0 };
  const hosts = hostConnections(() => clock.ms);
  /** As many as the account gets, of so many asked for. */
  const enter = (count: number, address: string, accountId: string) =>
    Array.from({ length: count }, () => hosts.enter(address, accountId)).flatMap((each) => each ?? []);
  return { clock, hosts, enter };
}

describe("a mail host gets", () => {
  test("sixteen connections of one account, and one of each other until there are twenty", () => {
    const { hosts, enter } = connections();
    expect(enter(100, "192.0.2.1", "acc_1")).toHaveLength(16);
    expect(["acc_2", "acc_3", "acc_4", "acc_5", "acc_6"].map((each) => enter(9, "192.0.2.1", each).length)).toEqual([
      ...[1, 1, 1, 1, 0],
    ]);
    expect(hosts.hasRoom("192.0.2.1", "acc_7")).toBe(false);
  });

  test("no more of them where it is spelled in another way, or has several addresses in one network", () => {
    const { enter } = connections();
    enter(100, "192.0.2.1", "acc_1");
    expect(enter(1, "::ffff:192.0.2.1", "acc_1")).toHaveLength(0);
    expect(enter(1, "192.0.2.2", "acc_1")).toHaveLength(1);
    enter(100, "2001:db8::1", "acc_1");
    expect(enter(1, "2001:db8::2", "acc_1")).toHaveLength(0);
    expect(enter(1, "2001:db8:0:1::2", "acc_1")).toHaveLength(1);
  });

  test("another where one ends", () => {
    const { enter, hosts } = connections();
    const [first] = enter(16, "192.0.2.1", "acc_1");
    expect(hosts.hasRoom("192.0.2.1", "acc_1")).toBe(false);
    first?.leave();
    first?.leave();
    expect(enter(9, "192.0.2.1", "acc_1")).toHaveLength(1);
  });
});

test("those that find no connection ask again one behind the other, each account's by itself", () => {
  const { clock, hosts } = connections();
  const againOf = (accountId: string) => hosts.againInMs("192.0.2.1", accountId);
  expect([againOf("acc_1"), againOf("acc_1"), againOf("acc_1"), againOf("acc_2")]).toEqual([1000, 1050, 1100, 1000]);
  clock.ms = 60_000;
  expect(againOf("acc_1")).toBe(1000);
});
