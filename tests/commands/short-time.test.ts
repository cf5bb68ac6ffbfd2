import { expect, test } from "bun:test";
import { fullTime, shortTime } from "../../src/commands/short-time.ts";

/** Five past two in the afternoon of a winter's day in Berlin. */
const now = new Date("2026-03-12T13:05:00.000Z");
const berlin = { now, timeZone: "Europe/Berlin" };

const instants: readonly [what: string, instant: string | null, timeZone: string, short: string][] = [
  ["now", "2026-03-12T13:05:00.000Z", "Europe/Berlin", "14:05"],
  ["the first minute of today", "2026-03-11T23:00:00.000Z", "Europe/Berlin", "00:00"],
  ["the last minute of yesterday", "2026-03-11T22:59:59.999Z", "Europe/Berlin", "11 Mar"],
  ["what is today further west", "2026-03-12T04:59:00.000Z", "America/New_York", "00:59"],
  ["what is yesterday further west", "2026-03-12T03:59:00.000Z", "America/New_York", "11 Mar"],
  ["this day of another month", "2026-02-12T13:05:00.000Z", "Europe/Berlin", "12 Feb"],
  ["this day of another year", "2025-03-12T13:05:00.000Z", "Europe/Berlin", "12 Mar 2025"],
  ["the first hour of a year", "2025-12-31T23:30:00.000Z", "Europe/Berlin", "1 Jan"],
  ["what is not there", null, "Europe/Berlin", ""],
  ["no instant at all", "soon", "Europe/Berlin", "soon"],
];

test.each(instants)("%s is as short as can be", (_what, instant, timeZone, short) => {
  expect(shortTime(instant, { now, timeZone })).toBe(short);
});

test("a single instant is whole, in the reader's time zone", () => {
  expect(fullTime("2026-07-01T22:04:00.000Z", berlin)).toBe("2 Jul 2026, 00:04");
  expect(fullTime("2026-01-01T00:04:00.000Z", berlin)).toBe("1 Jan 2026, 01:04");
  expect([fullTime(null, berlin), fullTime("soon", berlin)]).toEqual(["", "soon"]);
});
