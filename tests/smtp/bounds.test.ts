import { describe, expect, test } from "bun:test";
import { admission } from "../../src/smtp/admission.ts";
import { hopCount } from "../../src/smtp/hops.ts";
import { memoryBudget } from "../../src/smtp/memory-budget.ts";
import { originOf } from "../../src/standards/ip.ts";

describe("connections are counted by where they come from", () => {
  test("who owns a /48 has four times as many, whatever the number of its /64s", () => {
    const admitted = admission(100, 2);
    const enter = (site: number) =>
      Array.from({ length: 10 }, (_, network) => admitted.enter(originOf(`2001:db8:${site}:${network}::1`)));
    expect(enter(1)).toEqual([...Array<string>(8).fill("entered"), "address_full", "address_full"] as never);
    expect(enter(2).slice(0, 8)).toEqual(Array<string>(8).fill("entered") as never);
    admitted.leave(originOf("2001:db8:1:7::1"));
    expect([admitted.enter(originOf("2001:db8:1:99::1")), admitted.enter(originOf("2001:db8:1:7::1"))]).toEqual([
      "entered",
      "address_full",
    ]);
    expect(admitted.total).toBe(16);
  });

  test("a cap for each address, a cap in all, and who leaves makes room", () => {
    const admitted = admission(3, 2);
    expect(["a", "a", "a", "b", "c"].map((address) => admitted.enter(originOf(address)))).toEqual([
      "entered",
      "entered",
      "address_full",
      "entered",
      "full",
    ]);
    admitted.leave(originOf("a"));
    expect([admitted.total, admitted.enter(originOf("a")), admitted.total]).toEqual([2, "entered", 3]);
  });
});

test("a balancer's address has no cap of its own, however it is spelled, and counts in all", () => {
  const admitted = admission(5, 1, new Set(["192.0.2.7", "2001:db8:0::7"].map((address) => originOf(address).host)));
  const enter = [
    "::ffff:192.0.2.7",
    "192.0.2.7",
    "2001:DB8::7",
    "2001:db8::8",
    "2001:db8::9",
    "2001:db8::7",
    "192.0.2.7",
  ];
  expect(enter.map((address) => admitted.enter(originOf(address)))).toEqual([
    "entered",
    "entered",
    "entered",
    "entered",
    "address_full",
    "entered",
    "full",
  ]);
  for (const address of ["192.0.2.7", "192.0.2.7", "2001:db8::7", "2001:db8::7", "2001:db8::8"])
    admitted.leave(originOf(address));
  expect([admitted.total, admitted.enter(originOf("2001:db8::9"))]).toEqual([0, "entered"]);
});

describe("memory for mails", () => {
  test("a small mail never waits for large ones, a large one does while all are over the bound, the oldest large one never", () => {
    const memory = memoryBudget(100, 10);
    const [oldest, second, small] = [memory.join(), memory.join(), memory.join()];
    expect([oldest.hold(60), second.hold(41), small.hold(10), oldest.hold(90)]).toEqual([true, false, true, true]);
    expect(memory.usedBytes).toBe(141);
  });

  test("small mails wait when all small ones are over the bound, but for the oldest, and are woken in order", () => {
    const memory = memoryBudget(100, 10);
    const small = Array.from({ length: 12 }, () => memory.join());
    expect(small.map((share) => share.hold(9))).toEqual([...Array<boolean>(11).fill(true), false]);
    const [oldest, second, ...others] = small;
    const woken: string[] = [];
    others.at(-1)?.whenFree(() => woken.push("last"));
    expect([second?.hold(10), oldest?.hold(10), memory.join().hold(1)]).toEqual([false, true, false]);
    second?.whenFree(() => woken.push("second"));
    // One that grows is large from then on, and leaves the small ones their room: another is the oldest of them.
    oldest?.hold(90);
    expect(woken).toEqual(["second"]);
    others[0]?.release();
    expect(woken).toEqual(["second", "last"]);
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
