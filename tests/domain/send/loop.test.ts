import { describe, expect, test } from "bun:test";
import type { AutomatedKind } from "../../../src/domain/automated.ts";
import { Refusal } from "../../../src/domain/errors.ts";
import { type RecentMessage, refuseLoop } from "../../../src/domain/send/loop.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const minutesAgo = (minutes: number) => new Date(at.getTime() - minutes * 60_000);

const ours = (minutes: number, toAddr = "robot@example.com"): RecentMessage => ({
  ...{ direction: "outbound", fromAddr: "ada@mail.test", toAddr, createdAt: minutesAgo(minutes), automated: null },
});
const theirs = (minutes: number, kind: AutomatedKind | null, fromAddr = "robot@example.com"): RecentMessage => ({
  ...{ direction: "inbound", fromAddr, toAddr: "ada@mail.test", createdAt: minutesAgo(minutes) },
  automated: kind === null ? null : { kind, reasons: [] },
});

/** A mail of ours and its prompt answer, so many minutes ago. */
const round = (minutes: number, kind: AutomatedKind | null = "auto_reply") => [
  theirs(minutes - 1, kind),
  ours(minutes),
];

/** What the refusal tells, or that there is none. */
function judged(recent: readonly RecentMessage[], { to = "robot@example.com", limit = 3 } = {}): string {
  try {
    refuseLoop({ to, recent }, limit, at);
    return "goes";
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { extra, retryAfterSeconds } = error.details;
    return `${error.reason} ${extra?.used} of ${extra?.limit} until ${extra?.resets_at}, ${retryAfterSeconds} s`;
  }
}

const untilTomorrow = (minutes: number, used = 3, limit = 3) => {
  const resetsAt = new Date(minutesAgo(minutes).getTime() + 24 * 3_600_000);
  return `loop_detected ${used} of ${limit} until ${resetsAt.toISOString()}, ${86_400 - minutes * 60} s`;
};

describe("a send to a robot that answers each mail", () => {
  const three = [...round(10), ...round(20), ...round(30)];
  const rows: [string, readonly RecentMessage[], Parameters<typeof judged>[1] | undefined, string][] = [
    ["goes while it has answered twice", [...round(10), ...round(20)], undefined, "goes"],
    ["is refused when it has answered three times, until the oldest is a day old", three, undefined, untilTomorrow(29)],
    ["counts all of the day", [...three, ...round(40)], undefined, untilTomorrow(39, 4)],
    ["goes to somebody else", three, { to: "jane@example.com" }, "goes"],
    ["is judged whatever the letters' case", three, { to: "Robot@Example.com" }, untilTomorrow(29)],
    ["goes where there is no breaker", three, { limit: 0 }, "goes"],
    ["is refused sooner by a smaller number", three, { limit: 1 }, untilTomorrow(29, 3, 1)],
    ["goes when a person's mail came last from there", [theirs(1, null), ...three], undefined, "goes"],
    ["counts anew behind a person's mail", [...round(5), theirs(6, null), ...three], undefined, "goes"],
    ["goes when somebody else wrote last", [theirs(1, "auto_reply", "joe@example.com"), ...three], undefined, "goes"],
    ["goes when its last mail came late", [theirs(1, "notification"), ours(7), ...three], undefined, "goes"],
    [
      "does not count what came later than five minutes",
      [...round(10), theirs(11, "notification"), ours(17), ...round(20)],
      undefined,
      "goes",
    ],
    [
      "counts what came after just five minutes",
      [theirs(5, "notification"), ours(10), ...round(20), ...round(30)],
      undefined,
      untilTomorrow(29),
    ],
    ["does not count a day-old answer", [...round(10), ...round(20), ...round(1442)], undefined, "goes"],
    [
      "counts reports and notifications as well",
      [...round(10, "delivery_report"), ...round(20, "notification"), ...round(30)],
      undefined,
      untilTomorrow(29),
    ],
    [
      "does not count lists and receipts",
      [...round(10), ...round(15, "list"), ...round(18, "disposition_report"), ...round(20)],
      undefined,
      "goes",
    ],
    [
      "nor what answers nothing of ours to it",
      [...round(10), ...round(20), theirs(30, "auto_reply"), ours(31, "jane@example.com")],
      undefined,
      "goes",
    ],
    ["goes into a thread where nothing came in", [ours(1), ours(2)], undefined, "goes"],
    [
      "counts two answers to one mail twice",
      [theirs(8, "auto_reply"), theirs(9, "auto_reply"), ours(10), ...round(30)],
      undefined,
      untilTomorrow(29),
    ],
  ];
  test.each(rows)("%s", (_, recent, options, expected) => {
    expect(judged(recent, options)).toBe(expected);
  });
});
