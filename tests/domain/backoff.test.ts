import { describe, expect, test } from "bun:test";
import { nextRelayAttemptAt, nextWebhookAttemptAt, retryAfterAt } from "../../src/domain/backoff.ts";

const now = new Date("2026-03-21T10:05:00.000Z");
const secondsFrom = (at: Date | undefined) => (at === undefined ? undefined : (at.getTime() - now.getTime()) / 1000);
const middle = () => 0.5;

describe("a failed delivery is tried again", () => {
  const rows: [number, number | undefined][] = [
    [1, 30],
    [2, 180],
    [3, 1080],
    [4, 6480],
    [5, 38_880],
    [6, undefined],
    [7, undefined],
  ];
  test.each(rows)("after attempt %p: in %p seconds", (attempt, seconds) => {
    expect(secondsFrom(nextWebhookAttemptAt(attempt, now, middle))).toBe(seconds);
  });

  test("a tenth sooner or later", () => {
    expect(secondsFrom(nextWebhookAttemptAt(1, now, () => 0))).toBe(27);
    expect(secondsFrom(nextWebhookAttemptAt(1, now, () => 1))).toBe(33);
  });

  test("at the operator's own times", () => {
    expect(secondsFrom(nextWebhookAttemptAt(1, now, middle, [5]))).toBe(5);
    expect(nextWebhookAttemptAt(2, now, middle, [5])).toBeUndefined();
    expect(nextWebhookAttemptAt(1, now, middle, [])).toBeUndefined();
  });

  const asked: [string, string, number][] = [
    ["later when the receiver asks for it", "120", 120],
    ["not sooner than planned, whatever it asks", "0", 30],
    ["within a day", "99999999", 86_400],
    ["at its date", "Sat, 21 Mar 2026 10:15:00 GMT", 600],
    ["as planned when it asks in words", "soon", 30],
    ["as planned when its date is past", "Sat, 21 Mar 2020 10:15:00 GMT", 30],
  ];
  test.each(asked)("%s", (_, retryAfter, seconds) => {
    expect(secondsFrom(nextWebhookAttemptAt(1, now, middle, undefined, retryAfter))).toBe(seconds);
  });

  test("a Retry-After gives no attempt beyond the last", () => {
    expect(nextWebhookAttemptAt(6, now, middle, undefined, "120")).toBeUndefined();
  });
});

describe("Retry-After", () => {
  const rows: [string, string | undefined][] = [
    ["60", "2026-03-21T10:06:00.000Z"],
    [" 60 ", "2026-03-21T10:06:00.000Z"],
    ["Sat, 21 Mar 2026 11:00:00 GMT", "2026-03-21T11:00:00.000Z"],
    ["Saturday, 21-Mar-26 11:00:00 GMT", "2026-03-21T11:00:00.000Z"],
    ["Sat Mar 21 11:00:00 2026", "2026-03-21T11:00:00.000Z"],
    ["Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37.000Z"],
    ["Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37.000Z"],
    ["Sun, 21 Mar 2027 11:00:00 GMT", "2026-03-22T10:05:00.000Z"],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e9", undefined],
    ["", undefined],
    ["2026-03-21T11:00:00Z", undefined],
    ["Sat, 21 Mär 2026 11:00:00 GMT", undefined],
    ["Sat, 21 Foo 2026 11:00:00 GMT", undefined],
  ];
  test.each(rows)("%p is %p", (text, at) => {
    expect(retryAfterAt(text, now)?.toISOString()).toBe(at);
  });
});

describe("mail that the relay put off is tried again", () => {
  const rows: [number, number][] = [
    [1, 1],
    [2, 5],
    [3, 15],
    [4, 30],
    [5, 30],
    [80, 30],
  ];
  test.each(rows)("after attempt %p: in %p minutes", (attempt, minutes) => {
    expect(secondsFrom(nextRelayAttemptAt(attempt, now, now, 48))).toBe(minutes * 60);
  });

  test("or by a custom schedule, whose last pause is repeated", () => {
    const seconds = [1, 2, 3, 4].map((attempt) => secondsFrom(nextRelayAttemptAt(attempt, now, now, 48, [1, 5])));
    expect(seconds).toEqual([1, 5, 5, 5]);
  });

  test("until it has waited for as long as it may", () => {
    const firstAt = new Date(now.getTime() - 47.5 * 3_600_000);
    expect(secondsFrom(nextRelayAttemptAt(80, firstAt, now, 48))).toBe(1800);
    expect(nextRelayAttemptAt(80, new Date(firstAt.getTime() - 1), now, 48)).toBeUndefined();
  });
});
