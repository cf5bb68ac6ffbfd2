import { describe, expect, test } from "bun:test";
import { fairLine } from "../../../src/mail/read/fair-line.ts";

/** The names of jobs contain their senders: `a1` is the first job of `a`. */
function lineOf(slots: number, ...jobs: string[]) {
  const line = fairLine<string>(slots);
  for (const job of jobs) line.add(senderOf(job), job);
  return line;
}

const senderOf = (job: string) => job.slice(0, 1);
const minuteMs = 60_000;

/** The senders in the order in which they get a slot, if each slot is freed before the next is taken. */
function served(line: ReturnType<typeof lineOf>, nowMs = 0): string[] {
  const order: string[] = [];
  for (let job = line.take(nowMs); job !== undefined; job = line.take(nowMs)) {
    order.push(job);
    line.leave(senderOf(job));
  }
  return order;
}

describe("the next sender", () => {
  test("a sender's jobs in the order in which they came", () => {
    expect(served(lineOf(1, "a1", "a2", "a3"))).toEqual(["a1", "a2", "a3"]);
  });

  test("of several senders each in turn, however many jobs one has", () => {
    expect(served(lineOf(1, "a1", "a2", "a3", "a4", "b1", "c1", "c2"))).toEqual([
      "a1",
      "b1",
      "c1",
      "a2",
      "c2",
      "a3",
      "a4",
    ]);
  });

  test("a sender without a slot comes before one with a slot", () => {
    const line = lineOf(2, "a1", "a2");
    expect(line.take(0)).toBe("a1");
    line.add("b", "b1");
    expect(line.take(0)).toBe("b1");
  });

  test("one sender may have all slots if no other waits", () => {
    const line = lineOf(2, "a1", "a2");
    expect([line.take(0), line.take(0)]).toEqual(["a1", "a2"]);
  });

  test("a removed item is not taken", () => {
    const line = lineOf(1, "a1", "a2");
    expect(line.remove("a", "a1")).toBe(true);
    expect(line.remove("a", "a1")).toBe(false);
    expect(served(line)).toEqual(["a2"]);
    expect(line.length).toBe(0);
  });

  test("all that wait can be sent away", () => {
    const line = lineOf(1, "a1", "b1", "a2");
    expect(line.length).toBe(3);
    expect(line.clear().sort()).toEqual(["a1", "a2", "b1"]);
    expect(line.take(0)).toBeUndefined();
  });
});

describe("a sender whose job had to be ended", () => {
  test("comes behind all others, for a while", () => {
    const line = lineOf(1, "a1", "a2", "b1", "b2");
    line.suspect("a", 0);
    expect(served(line)).toEqual(["b1", "b2", "a1", "a2"]);
    for (const job of ["a3", "a4", "b3", "b4"]) line.add(senderOf(job), job);
    expect(served(line, 11 * minuteMs)).toEqual(["a3", "b3", "a4", "b4"]);
  });

  test("never has the last slot, not with others of his kind either", () => {
    const line = lineOf(2, "a1", "a2", "b1");
    line.suspect("a", 0);
    line.suspect("b", 0);
    expect(line.take(0)).toBe("a1");
    expect(line.take(0)).toBeUndefined();
    line.add("c", "c1");
    expect(line.take(0)).toBe("c1");
    line.leave("a");
    expect(line.take(0)).toBe("b1");
  });

  test("has the only slot where there is one", () => {
    const line = lineOf(1, "a1");
    line.suspect("a", 0);
    expect(line.take(0)).toBe("a1");
  });

  test("is one of ten thousand at most: the one longest ago is forgotten", () => {
    const line = lineOf(1, "a1", "b1");
    line.suspect("a", 0);
    for (let number = 0; number < 10_000; number += 1) line.suspect(`s${number}`, 0);
    expect(served(line)).toEqual(["a1", "b1"]);
  });
});
