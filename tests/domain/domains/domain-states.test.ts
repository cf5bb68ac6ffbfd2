import { expect, test } from "bun:test";
import {
  type DomainState,
  moved,
  nextState,
  type Proof,
  startedAgain,
} from "../../../src/domain/domains/domain-states.ts";

const start = new Date("2026-03-21T10:00:00.000Z");
const minute = 60_000;
const hour = 60 * minute;
const at = (ms: number) => new Date(start.getTime() + ms);
const settings = { graceHours: 168, random: () => 0.5 };

const added: DomainState = {
  status: "pending",
  pendingSince: start,
  checkedAt: null,
  nextCheckAt: start,
  missingSince: null,
  verifiedAt: null,
  failsAt: null,
  failedReason: null,
};
const verified: DomainState = { ...added, status: "verified", verifiedAt: start };
const failing: DomainState = { ...verified, status: "failing", missingSince: start, failsAt: at(168 * hour) };
const failed: DomainState = { ...verified, status: "failed", failedReason: "proof_gone", nextCheckAt: null };

/** The state, the event and the pause before the next check, after a check so many milliseconds after the start. */
const rows: readonly [
  DomainState,
  ms: number,
  Proof,
  status: string,
  event: string | undefined,
  pauseMs: number | undefined,
][] = [
  [added, 100, "gone", "pending", undefined, 15_000 - 100],
  [added, 15_100, "unknown", "pending", undefined, 15_000 - 100],
  [added, 30_100, "taken", "pending", undefined, 30_000 - 100],
  [added, 8 * minute + 1, "gone", "pending", undefined, 15 * minute],
  [added, 71.9 * hour, "gone", "pending", undefined, 6 * minute],
  [added, 72 * hour, "gone", "failed", "domain.failed", undefined],
  [added, 72 * hour, "unknown", "failed", "domain.failed", undefined],
  [added, 80 * hour, "valid", "verified", "domain.verified", 6 * hour],
  [added, 15_100, "valid", "verified", "domain.verified", 6 * hour],
  [verified, 6 * hour, "valid", "verified", undefined, 6 * hour],
  [verified, 240 * hour, "unknown", "verified", undefined, 15 * minute],
  [verified, 6 * hour, "gone", "verified", undefined, 15 * minute],
  [{ ...verified, missingSince: start }, 5 * minute, "gone", "verified", undefined, 10 * minute],
  [{ ...verified, missingSince: start }, 15 * minute, "unknown", "verified", undefined, 15 * minute],
  [{ ...verified, missingSince: start }, 15 * minute, "valid", "verified", undefined, 6 * hour],
  [{ ...verified, missingSince: start }, 15 * minute, "gone", "failing", "domain.failing", 15 * minute],
  [failing, 15 * minute, "gone", "failing", undefined, 15 * minute],
  [failing, 167.9 * hour, "unknown", "failing", undefined, 6 * minute],
  [failing, 168 * hour, "valid", "verified", "domain.verified", 6 * hour],
  [failing, 168 * hour, "gone", "failed", "domain.failed", undefined],
  [failed, 15_100, "gone", "failed", undefined, 14_900],
  [failed, 72 * hour, "gone", "failed", undefined, undefined],
  [failed, 15_100, "valid", "verified", "domain.verified", 6 * hour],
  [failed, 15_100, "taken", "failed", undefined, 14_900],
];

test.each(rows)("%j after %d ms, proof %s: %s", (before, ms, proof, status, event, pauseMs) => {
  const next = nextState(before, proof, at(ms), settings);
  expect([next.state.status, next.event]).toEqual([status as DomainState["status"], event as typeof next.event]);
  const { checkedAt, nextCheckAt } = next.state;
  expect(checkedAt).toEqual(at(ms));
  expect(nextCheckAt === null ? undefined : nextCheckAt.getTime() - at(ms).getTime()).toBe(pauseMs);
});

test("what a change of the state sets and clears", () => {
  const gone = (before: DomainState, ms: number) => nextState(before, "gone", at(ms), settings).state;
  expect(gone(verified, 6 * hour).missingSince).toEqual(at(6 * hour));
  expect(gone({ ...verified, missingSince: start }, hour)).toMatchObject({
    missingSince: start,
    failsAt: at(169 * hour),
  });
  expect(gone(added, 72 * hour).failedReason).toBe("never_proven");
  expect(gone(failing, 168 * hour)).toMatchObject({ failedReason: "proof_gone", failsAt: null });
  expect(moved(failing)).toMatchObject({ event: "domain.failed", state: { status: "failed", failedReason: "moved" } });
  const again = nextState(failing, "valid", at(hour), settings).state;
  expect(again).toMatchObject({ missingSince: null, failsAt: null, failedReason: null, verifiedAt: at(hour) });
  expect(nextState(verified, "valid", at(hour), settings).state.verifiedAt).toEqual(start);
  expect(startedAgain(failed, at(hour))).toMatchObject({
    status: "failed",
    pendingSince: at(hour),
    nextCheckAt: at(hour),
  });
});

test("checks of verified domains are spread by a tenth to both sides of six hours", () => {
  const pause = (random: number) =>
    (nextState(verified, "valid", start, { ...settings, random: () => random }).state.nextCheckAt?.getTime() ?? 0) -
    start.getTime();
  expect([pause(0), pause(1)]).toEqual([5.4 * hour, 6.6 * hour]);
});
