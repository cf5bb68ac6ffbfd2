import { describe, expect, test } from "bun:test";
import { admission, sourceOf } from "../../src/smtp/admission.ts";
import { hopCount } from "../../src/smtp/hops.ts";
import { memoryBudget } from "../../src/smtp/memory-budget.ts";

describe("connections are counted by where they come from", () => {
  const rows: [address: string, source: string][] = [
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["::FFFF:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0DB8:0001:0002::9", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
  ];
  test.each(rows)("%s is %s", (address, source) => {
    expect(sourceOf(address)).toBe(source);
  });

  test("a cap for each address, a cap in all, and who leaves makes room", () => {
    const admitted = admission(3, 2);
    expect(["a", "a", "a", "b", "c"].map((address) => admitted.enter(address))).toEqual([
      "entered",
      "entered",
      "address_full",
      "entered",
      "full",
    ]);
    admitted.leave("a");
    expect([admitted.total, admitted.enter("a"), admitted.total]).toEqual([2, "entered", 3]);
  });
});

test("a balancer's address has no cap of its own, however it is spelled, and counts in all", () => {
  const admitted = admission(5, 1, ["192.0.2.7", "2001:db8:0::7"]);
  const enter = [
    "::ffff:192.0.2.7",
    "192.0.2.7",
    "2001:DB8::7",
    "2001:db8::8",
    "2001:db8::9",
    "2001:db8::7",
    "192.0.2.7",
  ];
  expect(enter.map((address) => admitted.enter(address))).toEqual([
    "entered",
    "entered",
    "entered",
    "entered",
    "address_full",
    "entered",
    "full",
  ]);
  for (const address of ["192.0.2.7", "192.0.2.7", "2001:db8::7", "2001:db8::7", "2001:db8::8"])
    admitted.leave(address);
  expect([admitted.total, admitted.enter("2001:db8::9")]).toEqual([0, "entered"]);
});

describe("memory for mails", () => {
  test("a small mail never waits, a great one does while all are over the bound, the oldest great one never", () => {
    const memory = memoryBudget(100, 10);
    const [oldest, second, small] = [memory.join(), memory.join(), memory.join()];
    expect([oldest.hold(60), second.hold(41), small.hold(10), oldest.hold(90)]).toEqual([true, false, true, true]);
    expect(memory.usedBytes).toBe(141);
  });

  test("what is given back lets those who wait read on, the oldest even while others hold too much", () => {
    const memory = memoryBudget(100, 10);
    const [first, second, third] = [memory.join(), memory.join(), memory.join()];
    const woken: string[] = [];
    first.hold(20);
    expect([second.hold(60), third.hold(60)]).toEqual([true, false]);
    expect(second.hold(90)).toBe(false);
    second.whenFree(() => woken.push("second"));
    third.whenFree(() => woken.push("third"));
    first.release();
    expect(woken).toEqual(["second"]);
    second.release();
    expect(woken).toEqual(["second", "third"]);
    third.release();
    third.release();
    expect(memory.usedBytes).toBe(0);
  });
});

describe("Received headers are counted", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const rows: [what: string, mail: string, hops: number][] = [
    ["in the header", "Received: a\r\nreceived : b\r\nSubject: x\r\n\r\n", 2],
    ["not in the body", "Received: a\r\n\r\nReceived: b\r\n", 1],
    ["not what only starts so", "Received-SPF: pass\r\nReceivedx: 1\r\n", 0],
    ["not in a folded line", "Subject: x\r\n Received: b\r\n", 0],
    ["with bare LF", "Received: a\nReceived: b\n\nReceived: c\n", 2],
    ["up to the end of a mail without one", "Received: a\r\nReceived", 1],
    ["in nothing", "", 0],
  ];
  test.each(rows)("%s", (_what, mail, hops) => {
    expect(hopCount(bytes(mail), 101)).toBe(hops);
  });

  test("only up to what is enough", () => {
    expect(hopCount(bytes("Received: a\r\n".repeat(500)), 101)).toBe(101);
  });
});
