import { describe, expect, test } from "bun:test";
import { Refusal } from "../../src/domain/errors.ts";
import {
  burstWindow,
  type CountedRecipients,
  dayInForce,
  endOfUtcDay,
  type Limits,
  limitsOf,
  parsePlanChoice,
  parsePlanLimit,
  perPlan,
  type Quota,
  rateLimitFields,
  refuseOverInboxLimit,
  refuseOverLimit,
  refuseOverQuota,
  type SendUsage,
  utcDay,
} from "../../src/domain/limits.ts";
import { noLimits } from "../support/limits.ts";

const now = new Date("2026-03-21T10:05:00.500Z");
const limits: Limits = {
  ...noLimits,
  sendsPerMinute: 10,
  sendsPerDay: 200,
  coldRecipientDaily: 20,
  inboxesPerDay: 100,
  loopEchoes: 3,
  domains: 0,
};
const unused: SendUsage = { inWindow: 0, oldestInWindowAt: undefined, day: "2026-03-21", today: 0 };
const sent = (cold: number) => [{ address: "jane@example.com", sentToday: cold }];
const one = { count: 1, cold: sent(0), areSeveral: false };
const secondsAgo = (seconds: number) => new Date(now.getTime() - seconds * 1000);

function refusalOf(work: () => void): Refusal | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  return undefined;
}

describe("a send within its limits", () => {
  const rows: [string, Partial<SendUsage & CountedRecipients>, Partial<Limits>][] = [
    ["the first", {}, {}],
    ["the tenth of a minute", { inWindow: 9, oldestInWindowAt: secondsAgo(30) }, {}],
    ["the 200th of a day", { today: 199 }, {}],
    ["the 20th cold one", { cold: sent(19) }, {}],
    ["to someone who has written here, however many", { cold: [], today: 100 }, {}],
    [
      "the thousandth where nothing is limited",
      { inWindow: 1000, today: 1000, cold: sent(1000) },
      { sendsPerMinute: 0, sendsPerDay: 0, coldRecipientDaily: 0 },
    ],
  ];
  test.each(rows)("%s", (_, usage, own) => {
    expect(
      refusalOf(() => refuseOverLimit({ ...unused, ...usage }, { ...one, ...usage }, { ...limits, ...own }, now)),
    ).toBeUndefined();
  });
});

describe("the refusal of a send names the limit, its usage, and its reset", () => {
  const rows: [string, Partial<SendUsage & CountedRecipients>, string, number, string, number][] = [
    [
      "the eleventh of a minute",
      { inWindow: 10, oldestInWindowAt: secondsAgo(20) },
      "rate_limit_exceeded",
      10,
      "2026-03-21T10:05:40.500Z",
      40,
    ],
    [
      "the window closes within a second",
      { inWindow: 10, oldestInWindowAt: secondsAgo(59.8) },
      "rate_limit_exceeded",
      10,
      "2026-03-21T10:05:00.700Z",
      1,
    ],
    ["the 201st of a day", { today: 200 }, "daily_limit_exceeded", 200, "2026-03-22T00:00:00.000Z", 50_100],
    ["the 21st cold one", { cold: sent(20) }, "cold_outreach_limit", 20, "2026-03-22T00:00:00.000Z", 50_100],
    [
      "over all of them: the burst comes first",
      { inWindow: 10, oldestInWindowAt: now, today: 200, cold: sent(20) },
      "rate_limit_exceeded",
      10,
      "2026-03-21T10:06:00.500Z",
      60,
    ],
    [
      "over the last two: the day comes first",
      { today: 200, cold: sent(20) },
      "daily_limit_exceeded",
      200,
      "2026-03-22T00:00:00.000Z",
      50_100,
    ],
  ];
  test.each(rows)("%s", (_, usage, reason, used, resetsAt, retryAfterSeconds) => {
    const refusal = refusalOf(() => refuseOverLimit({ ...unused, ...usage }, { ...one, ...usage }, limits, now));
    expect(refusal).toMatchObject({
      reason,
      details: { retryAfterSeconds, extra: { limit: used, used, resets_at: resetsAt } },
    });
  });

  test("the 101st inbox of a day", () => {
    const made = (today: number) => ({ day: "2026-03-21", today });
    expect(refusalOf(() => refuseOverInboxLimit(made(99), limits, now))).toBeUndefined();
    expect(refusalOf(() => refuseOverInboxLimit(made(100), limits, now))).toMatchObject({
      reason: "inbox_creation_limit",
      details: { extra: { limit: 100, used: 100, resets_at: "2026-03-22T00:00:00.000Z" } },
    });
    expect(refusalOf(() => refuseOverInboxLimit(made(100), { ...limits, inboxesPerDay: 0 }, now))).toBeUndefined();
  });
});

describe("the RateLimit fields", () => {
  test("have the remaining sends and the seconds until the reset", () => {
    const usage = { ...unused, inWindow: 7, oldestInWindowAt: secondsAgo(40), today: 150 };
    expect(rateLimitFields(usage, limits, now)).toEqual({
      "RateLimit-Policy": '"burst";q=10;w=60, "daily";q=200;w=86400',
      RateLimit: '"burst";r=3;t=20, "daily";r=50;t=50100',
    });
  });
  test("leave out a limit that is off", () => {
    const fields = rateLimitFields(unused, { ...limits, sendsPerMinute: 0 }, now);
    expect(fields).toEqual({ "RateLimit-Policy": '"daily";q=200;w=86400', RateLimit: '"daily";r=200;t=50100' });
    expect(rateLimitFields(unused, { ...limits, sendsPerMinute: 0, sendsPerDay: 0 }, now)).toEqual({});
  });
});

describe("a limit for each plan", () => {
  const fallback = 10;
  const rows: [string, string, object][] = [
    ["one for all", "5", { free: 5, developer: 5, enterprise: 5 }],
    ["one for a plan, the usual for the rest", "enterprise=100", { free: 10, developer: 10, enterprise: 100 }],
    ["both", "5,enterprise=100", { free: 5, developer: 5, enterprise: 100 }],
    ["in any order", " free = 1 , 7 ", { free: 1, developer: 7, enterprise: 7 }],
    ["none", "0", { free: 0, developer: 0, enterprise: 0 }],
  ];
  test.each(rows)("%s", (_, text, value) => {
    expect(parsePlanLimit(text, fallback)).toEqual({
      value: value as Record<"free" | "developer" | "enterprise", number>,
    });
  });
  test.each(["", "ten", "-1", "1.5", "gold=5", "5;free=1", "free=", "9999999999"])("%p is none", (text) => {
    expect(parsePlanLimit(text, fallback)).toBeString();
  });
});

test("a word for each plan", () => {
  const parse = (text: string) => parsePlanChoice<"all" | "head" | "off">(text, ["all", "head", "off"], "all");
  expect(parse("HEAD")).toEqual({ value: { free: "head", developer: "head", enterprise: "head" } });
  expect(parse("free=off")).toEqual({ value: { free: "off", developer: "all", enterprise: "all" } });
  expect(parse("head, enterprise = all")).toEqual({ value: { free: "head", developer: "head", enterprise: "all" } });
  for (const text of ["", "body", "gold=all", "all;free=head", "free=", "0"]) expect(parse(text)).toBeString();
});

test("a day is a UTC day, whatever the machine's zone", () => {
  expect(utcDay(new Date("2026-03-21T23:59:59.999Z"))).toBe("2026-03-21");
  expect(endOfUtcDay("2026-12-31")).toEqual(new Date("2027-01-01T00:00:00.000Z"));
  expect(endOfUtcDay("2026-03-21")).toEqual(new Date("2026-03-22T00:00:00.000Z"));
});

describe("the day that is in force", () => {
  const rows: [string, string | null, string][] = [
    ["today, where nothing was counted yet", null, "2026-03-21"],
    ["today, after an earlier one", "2026-03-20", "2026-03-21"],
    ["a later one that was seen", "2026-03-22", "2026-03-22"],
  ];
  test.each(rows)("is %s", (_, lastCountedOn, day) => expect(dayInForce(lastCountedOn, now)).toBe(day));

  test("ends when that day does, and so do its limits", () => {
    const usage = { ...unused, day: "2026-03-22", today: 200 };
    expect(refusalOf(() => refuseOverLimit(usage, one, limits, now))).toMatchObject({
      details: { retryAfterSeconds: 50_100 + 86_400, extra: { resets_at: "2026-03-23T00:00:00.000Z" } },
    });
    expect(rateLimitFields(usage, limits, now).RateLimit).toEndWith('"daily";r=0;t=136500');
  });
});

test("a send leaves the window after 60 seconds, and one from the future is not in it", () => {
  expect(burstWindow(now)).toEqual({ after: secondsAgo(60), upTo: secondsAgo(-1) });
});

test.each<[what: string, Quota, used: number, adds: number, reason: string | undefined]>([
  ["the last one", "inboxes", 2, 1, undefined],
  ["one too many", "inboxes", 3, 1, "Cannot try: the limit of 3 inboxes is reached"],
  ["what just fits", "inboxBytes", 900, 100, undefined],
  ["what does not fit", "inboxBytes", 900, 101, "Cannot try: the limit of 1000 bytes of mail of an inbox is reached"],
  ["a quota that is off", "storageBytes", 1e15, 1, undefined],
])("a quota takes or refuses %s", (_, quota, used, adds, reason) => {
  const own = limitsOf(
    perPlan(() => limits),
    { plan: "free", limits: { inboxes: 3, inboxBytes: 1000 } },
  );
  const asked = () => refuseOverQuota(quota, { used, adds, limits: own, doing: "try" });
  if (reason === undefined) return expect(asked).not.toThrow();
  expect(asked).toThrow(reason);
});
