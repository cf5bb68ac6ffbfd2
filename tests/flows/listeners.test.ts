import { expect, test } from "bun:test";
import { Refusal } from "../../src/domain/errors.ts";
import { listeners } from "../../src/flows/listeners.ts";

function refusalOf(open: () => unknown): Refusal {
  try {
    open();
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  throw new Error("Nothing was refused");
}

test("an account has a limit of listeners of all kinds together", () => {
  const counted = listeners({ perAccount: 2, perProcess: 10 });
  const close = counted.open("wait", "acc_1");
  counted.open("sse", "acc_1");
  const refusal = refusalOf(() => counted.open("ws", "acc_1"));
  expect(refusal.reason).toBe("too_many_listeners");
  expect(refusal.details).toEqual({ extra: { limit: 2, scope: "account" }, retryAfterSeconds: 1 });
  counted.open("wait", "acc_2");
  close();
  counted.open("ws", "acc_1");
  expect(["wait", "sse", "ws"].map((kind) => counted.count(kind as "wait"))).toEqual([1, 1, 1]);
});

test("a process has a limit of listeners of all accounts", () => {
  const counted = listeners({ perAccount: 2, perProcess: 3 });
  counted.open("wait", "acc_1");
  counted.open("wait", "acc_2");
  counted.open("wait", "acc_3");
  expect(refusalOf(() => counted.open("wait", "acc_4")).details.extra).toEqual({ limit: 3, scope: "process" });
});

test("a slot is released once, however often it is released", () => {
  const counted = listeners({ perAccount: 1, perProcess: 10 });
  const close = counted.open("wait", "acc_1");
  close();
  counted.open("sse", "acc_1");
  close();
  expect(counted.count("wait")).toBe(0);
  expect(() => counted.open("wait", "acc_1")).toThrow(Refusal);
});
