import { describe, expect, test } from "bun:test";
import type { AutomatedKind } from "../../../src/domain/automated.ts";
import { Refusal } from "../../../src/domain/errors.ts";
import { type RecentMessage, refuseLoop } from "../../../src/domain/send/loop.ts";

const at = new Date("2026-03-21T10:05:00.000Z");
const minutesAgo = (minutes: number) => new Date(at.getTime() - minutes * 60_000);

let messages = 0;

function newMessage() {
  messages += 1;
  return { messageIdHash: `hash ${messages}`, automated: null };
}

const ours = (minutes: number, toAddr = "robot@example.com", more: Partial<RecentMessage> = {}): RecentMessage => ({
  direction: "outbound",
  fromAddr: "ada@mail.test",
  toAddr,
  toAddrs: [toAddr],
  cc: [],
  createdAt: minutesAgo(minutes),
  ...newMessage(),
  ...more,
});
const theirs = (
  minutes: number,
  kind: AutomatedKind | null,
  fromAddr = "robot@example.com",
  reasons: string[] = [],
): RecentMessage => ({
  direction: "inbound",
  fromAddr,
  toAddr: "ada@mail.test",
  toAddrs: ["ada@mail.test"],
  cc: [],
  createdAt: minutesAgo(minutes),
  ...newMessage(),
  automated: kind === null ? null : { kind, reasons },
});

/** A mail of ours and its prompt answer, so many minutes ago. */
const round = (minutes: number, kind: AutomatedKind | null = "auto_reply", reasons: string[] = []) => [
  theirs(minutes - 1, kind, undefined, reasons),
  ours(minutes),
];
/** The same with an address of the robot's for each mail. */
const roundAt = (minutes: number, address: string) => [
  theirs(minutes - 1, "auto_reply", address),
  ours(minutes, address),
];
const threeAt = (...addresses: string[]) => addresses.flatMap((address, index) => roundAt(10 * (index + 1), address));

/** A mail of ours to another inbox of ours, or to somebody who sends it back. */
function returned(minutes: number, to: string, from: string, isSame: boolean): RecentMessage[] {
  const sent = ours(minutes, to);
  const back = theirs(minutes - 1, null, from);
  return [{ ...back, ...(isSame && { messageIdHash: sent.messageIdHash }) }, sent];
}
const threeReturned = (to: string, from: string, isSame: boolean) =>
  [10, 20, 30].flatMap((minutes) => returned(minutes, to, from, isSame));

/** What the refusal tells, or that there is none. */
function judged(recent: readonly RecentMessage[], { to = "robot@example.com", limit = 3 } = {}): string {
  try {
    refuseLoop({ to, recent, ownAddresses: ["ada@mail.test"] }, limit, at);
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
      "counts mail to many, receipts and complaints",
      [
        ...round(10, "bulk", ["null-reverse-path", "precedence"]),
        ...round(20, "disposition_report"),
        ...round(30, "complaint_report"),
      ],
      undefined,
      untilTomorrow(29),
    ],
    [
      "does not count lists",
      [10, 20, 30].flatMap((minutes) => round(minutes, "list", ["list-id", "precedence"])),
      undefined,
      "goes",
    ],
    [
      "counts a list's mail with a further sign",
      [10, 20, 30].flatMap((minutes) => round(minutes, "list", ["auto-submitted", "list-id"])),
      undefined,
      untilTomorrow(29),
    ],
    [
      "goes where an address alone says that nobody reads",
      [10, 20, 30].flatMap((minutes) => round(minutes, "notification", ["no-reply"])),
      undefined,
      "goes",
    ],
    [
      "counts anew behind a mail that came late",
      [...round(10), theirs(11, "notification"), ours(17), ...three],
      undefined,
      "goes",
    ],
    [
      "knows a robot by any tag",
      threeAt("robot+3@example.com", "robot+2@example.com", "robot@example.com"),
      undefined,
      untilTomorrow(29),
    ],
    [
      "knows a robot by any number",
      threeAt("robot-3@example.com", "robot-20@example.com", "robot-1@example.com"),
      { to: "robot-4@example.com" },
      untilTomorrow(29),
    ],
    [
      "knows robots of two names apart",
      threeAt("robot@example.com", "joe@example.com", "robot@example.com"),
      undefined,
      "goes",
    ],
    [
      "counts a mail to ourselves that comes back",
      threeReturned("ada@mail.test", "ada@mail.test", true),
      { to: "ada@mail.test" },
      untilTomorrow(29),
    ],
    [
      "counts a mail that comes back under our address",
      threeReturned("ada+x@mail.test", "Ada+x@mail.test", false),
      { to: "ada@mail.test" },
      untilTomorrow(29),
    ],
    [
      "counts a mail that comes back under another address",
      threeReturned("robot@example.com", "robot@example.com", true),
      undefined,
      untilTomorrow(29),
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
