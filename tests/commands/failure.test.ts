import { expect, test } from "bun:test";
import { isSystemTrouble, reasonOf } from "../../src/commands/failure.ts";

const failed = (code: string) => Object.assign(new Error(`${code}: as the system says it`), { code });

const reasons: readonly [what: string, error: unknown, reason: string][] = [
  ["a file that is not there", failed("ENOENT"), "there is no such file or directory"],
  ["a port without a listener", failed("ECONNREFUSED"), "nothing listens there"],
  ["the same by fetch", failed("ConnectionRefused"), "nothing listens there"],
  ["a time-out of fetch", new DOMException("The operation timed out.", "TimeoutError"), "no answer in time"],
  ["what we have no better words for", failed("EXDEV"), "EXDEV: as the system says it"],
  ["our own words", new Error("Cannot go: the way is closed"), "Cannot go: the way is closed"],
  ["what is no error", "nothing", "nothing"],
];

test.each(reasons)("%s is in plain words", (_what, error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});

test("errors of the system are told apart from our own", () => {
  expect([failed("ENOENT"), failed("no_such_code"), new Error("ours")].map(isSystemTrouble)).toEqual([
    true,
    false,
    false,
  ]);
});
