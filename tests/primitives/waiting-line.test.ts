import { expect, test } from "bun:test";
import { waitingLine } from "../../src/primitives/waiting-line.ts";

const patience = { waitMs: 60_000, late: () => new Error("late"), calledOff: () => new Error("called off") };

test("the first caller is served first, and its wish is shown", async () => {
  const line = waitingLine<number, string>(patience);
  const one = line.join({ wish: "large" });
  const other = line.join({ wish: "small" });
  expect([line.length, line.firstWish]).toEqual([2, "large"]);
  line.serveFirst(1);
  expect([line.length, line.firstWish]).toEqual([1, "small"]);
  line.serveFirst(2);
  expect(await Promise.all([one, other])).toEqual([1, 2]);
  expect([line.length, line.firstWish]).toEqual([0, undefined]);
});

test("a caller that has waited too long leaves the line, and those behind it are served", async () => {
  const line = waitingLine<number>({ ...patience, waitMs: 1 });
  expect(await line.join({}).catch(String)).toBe("Error: late");
  const other = line.join({});
  line.serveFirst(2);
  expect(await other).toBe(2);
});

test("an aborted caller leaves the middle of the line, and does not join it afterwards", async () => {
  const line = waitingLine<number>(patience);
  const ending = new AbortController();
  const [first, second, third] = [line.join({}), line.join({ signal: ending.signal }), line.join({})];
  ending.abort();
  expect(await second.catch(String)).toBe("Error: called off");
  expect(await line.join({ signal: ending.signal }).catch(String)).toBe("Error: called off");
  line.serveFirst(1);
  line.serveFirst(3);
  expect(await Promise.all([first, third])).toEqual([1, 3]);
});

test("an abort after a caller is served has no effect", async () => {
  const line = waitingLine<number>(patience);
  const ending = new AbortController();
  const served = line.join({ signal: ending.signal });
  const other = line.join({});
  line.serveFirst(1);
  ending.abort();
  expect(line.length).toBe(1);
  line.serveFirst(2);
  expect(await Promise.all([served, other])).toEqual([1, 2]);
});

test("all callers are rejected at once", async () => {
  const line = waitingLine<number>(patience);
  const all = [line.join({}), line.join({})].map((waiter) => waiter.catch(String));
  line.rejectAll(new Error("closed"));
  expect(line.length).toBe(0);
  expect(await Promise.all(all)).toEqual(["Error: closed", "Error: closed"]);
});
