import { describe, expect, test } from "bun:test";
import { admission } from "../../src/smtp/admission.ts";
import { type MemoryShare, memoryBudget } from "../../src/smtp/memory-budget.ts";
import { hopCount } from "../../src/smtp/transfer.ts";
import { originOf } from "../../src/standards/ip.ts";

describe("connections are counted by network", () => {
  test("a /48 has four times as many as a /64, however many /64s it has", () => {
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

  test("there is a limit for each address and one for all, and a connection that ends makes room", () => {
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

test("the address of a balancer has no limit of its own in any spelling, and counts for the limit of all", () => {
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
  let atMs = 0;

  /** 100 bytes, with small mails up to 10 and the largest of 25. A turn takes 10 s, in which 10 bytes should come. */
  function budget() {
    atMs = 0;
    const bounds = { limitBytes: 100, freeBytes: 10, largestBytes: 25, turnMs: 10_000, bytesPerSecond: 1 };
    const memory = memoryBudget({ ...bounds, nowMs: () => atMs });
    const gaveBack: string[] = [];
    /** A mail that gives its memory back on `giveBack`, as a transfer does. */
    function join(name: string, network: string | undefined = name): MemoryShare {
      const share = memory.join(network, () => {
        gaveBack.push(name);
        share.release();
      });
      return share;
    }
    return { memory, join, gaveBack };
  }

  const many = (count: number, join: (name: string) => MemoryShare) =>
    Array.from({ length: count }, (_, i) => join(`n${i}`));

  test("a small mail does not wait for large ones, a large one waits while all are over the limit, and the oldest large one never does", () => {
    const { memory, join } = budget();
    const [oldest, second, small] = [join("a"), join("b"), join("c")];
    expect([oldest.hold(60), second.hold(41), small.hold(10), oldest.hold(90)]).toEqual([true, false, true, true]);
    expect(memory.usedBytes).toBe(141);
  });

  test("small mails wait while all small ones are over the limit, except for the oldest, and go on in order", () => {
    const { memory, join } = budget();
    const small = many(12, join);
    expect(small.map((share) => share.hold(9))).toEqual([...Array<boolean>(11).fill(true), false]);
    const [oldest, second, ...others] = small;
    const woken: string[] = [];
    others.at(-1)?.whenFree(() => woken.push("last"));
    expect([second?.hold(10), oldest?.hold(10), join("late").hold(1)]).toEqual([false, true, false]);
    second?.whenFree(() => woken.push("second"));
    // A mail that grows becomes large and frees the memory of small ones, of which another is now the oldest.
    oldest?.hold(90);
    expect(woken).toEqual(["second"]);
    others[0]?.release();
    expect(woken).toEqual(["second", "last"]);
    expect(memory.usedBytes).toBe(182);
  });

  test("freed memory lets waiting mails read on, the oldest even while others hold too much", () => {
    const { memory, join } = budget();
    const [first, second, third] = [join("a"), join("b"), join("c")];
    const woken: string[] = [];
    first.hold(20);
    expect([second.hold(40), third.hold(50)]).toEqual([true, false]);
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

  const networks: [what: string, held: [network: string | undefined, bytes: number][], goesOn: boolean[]][] = [
    [
      "one network has half",
      [
        ["a", 20],
        ["a", 30],
        ["a", 11],
      ],
      [true, true, false],
    ],
    ["its oldest mail goes on where it is the oldest of all", [["a", 70]], [true]],
    [
      "two networks have a third each",
      [
        ["a", 30],
        ["b", 33],
        ["a", 11],
      ],
      [true, true, false],
    ],
    [
      "whoever comes behind one that holds half finds room",
      [
        ["a", 20],
        ["a", 30],
        ["b", 25],
      ],
      [true, true, true],
    ],
    [
      "and behind others too",
      [
        ["a", 50],
        ["b", 25],
        ["c", 12],
      ],
      [true, true, true],
    ],
    [
      "behind a balancer each mail is counted alone",
      [
        [undefined, 30],
        [undefined, 30],
        [undefined, 20],
      ],
      [true, true, true],
    ],
  ];
  test.each(networks)("is shared by networks: %s", (_what, held, goesOn) => {
    const { memory } = budget();
    expect(held.map(([network, bytes]) => memory.join(network, () => undefined).hold(bytes))).toEqual(goesOn);
  });

  /** At 0 s each mail comes with these bytes, at 1 s "honest" waits with 11. `at` is the time of the look for slow mails. */
  const slow: [
    what: string,
    mails: [name: string, network: string, bytes: number][],
    at: number,
    gaveBack: string[],
  ][] = [
    [
      "who stopped gives back, and no more of them than is needed",
      [
        ["b1", "b", 22],
        ["b2", "b", 22],
        ["b3", "b", 22],
      ],
      12,
      ["b1"],
    ],
    ["not before somebody has waited for a turn", [["b1", "b", 60]], 10, []],
    [
      "as many of them as make room for a largest mail",
      [
        ["b1", "b", 15],
        ["b2", "b", 15],
        ["b3", "b", 15],
        ["c1", "c", 40],
      ],
      12,
      ["b1", "b2", "b3"],
    ],
    [
      "not who holds less than whoever waits",
      [
        ["b1", "b", 15],
        ["c1", "c", 60],
        ["h1", "a", 11],
      ],
      12,
      ["c1"],
    ],
    [
      "also in the network of whoever waits",
      [
        ["a1", "a", 50],
        ["a2", "a", 15],
      ],
      12,
      ["a1"],
    ],
  ];
  test.each(slow)("who is slow while others wait: %s", (_what, mails, at, expected) => {
    const { memory, join, gaveBack } = budget();
    for (const [name, network, bytes] of mails) join(name, network).hold(bytes);
    atMs = 1_000;
    const honest = join("honest", "a");
    honest.hold(11);
    honest.whenFree(() => undefined);
    atMs = at * 1_000;
    memory.relieve();
    expect(gaveBack).toEqual(expected);
  });

  test("a mail that is fast enough, waits or is being stored gives nothing back, and having been fast at first does not count", () => {
    const { memory, join, gaveBack } = budget();
    const [brisk, waits, stored, stopped] = [join("brisk"), join("waits"), join("stored"), join("stopped")];
    for (const share of [brisk, waits, stored, stopped]) share.hold(30);
    stored.cameWhole();
    waits.whenFree(() => undefined);
    atMs = 5_000;
    const honest = join("honest");
    honest.hold(11);
    honest.whenFree(() => undefined);
    brisk.hold(35);
    atMs = 16_000;
    brisk.hold(46);
    memory.relieve();
    expect(gaveBack).toEqual(["stopped"]);
  });

  test("small mails that stop give their memory to small mails that wait", () => {
    const { memory, join, gaveBack } = budget();
    const stopped = many(11, join);
    for (const share of stopped) share.hold(10);
    const honest = join("honest");
    const woken: string[] = [];
    expect(honest.hold(2)).toBe(false);
    honest.whenFree(() => woken.push("honest"));
    atMs = 10_000;
    memory.relieve();
    expect([gaveBack, woken]).toEqual([["n0", "n1", "n2"], ["honest"]]);
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

  test("only up to the number that is enough", () => {
    expect(hopCount(bytes("Received: a\r\n".repeat(500)), 101)).toBe(101);
  });
});
