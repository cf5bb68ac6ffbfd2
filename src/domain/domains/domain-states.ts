import type { DomainStatus } from "./readiness.ts";

/** The part of a domain that its checks change. */
export interface DomainState {
  status: DomainStatus;
  /** The start of the 72 hours in which a domain must be proven. */
  pendingSince: Date;
  checkedAt: Date | null;
  nextCheckAt: Date | null;
  /** When the proof was first found missing, since it was last found. */
  missingSince: Date | null;
  verifiedAt: Date | null;
  failsAt: Date | null;
  failedReason: FailedReason | null;
}

export const failedReasons = ["never_proven", "proof_gone", "moved"] as const;

export type FailedReason = (typeof failedReasons)[number];

/**
 * The result of a check for the proof. `taken`: it is valid, but so is that of another account, which has the domain. `gone`: all servers that
 * answered say that it is not there. `unknown` never counts against a domain.
 */
export type Proof = (typeof proofs)[number];

export const proofs = ["valid", "taken", "gone", "unknown"] as const;

export interface StateSettings {
  /** How long a failing domain goes on as before. */
  graceHours: number;
  random: () => number;
}

/** The event of a change. Undefined if the status stays. */
export type DomainEventType = "domain.verified" | "domain.failing" | "domain.failed";

export interface NextState {
  state: DomainState;
  event: DomainEventType | undefined;
}

/** The state of a domain after a check that ended at `at`. */
export function nextState(before: DomainState, proof: Proof, at: Date, settings: StateSettings): NextState {
  const state = { ...before, checkedAt: at };
  if (proof === "valid") return proven(state, at, settings);
  switch (before.status) {
    case "pending":
    case "failed":
      return unproven(state, at);
    case "verified":
      return doubted(state, proof, at, settings);
    case "failing":
      return failingStill(state, at);
  }
}

/** The state of a domain whose name another account has proven, while its own proof is gone. */
export function moved(before: DomainState): NextState {
  return failed(before, "moved");
}

/** The state after POST, and after a request to verify a domain that is not checked any more: 72 hours to be proven. */
export function startedAgain(before: DomainState, at: Date): DomainState {
  return { ...before, pendingSince: at, nextCheckAt: at };
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const provenWithinMs = 72 * hourMs;
const soonMs = 15 * minuteMs;
const usualMs = 6 * hourMs;
/** How long after POST a new domain is checked. */
const firstChecksMs = [15_000, 30_000, ...[1, 2, 4, 8].map((minutes) => minutes * minuteMs)];

function proven(state: DomainState, at: Date, { random }: StateSettings): NextState {
  const isNew = state.status !== "verified";
  return {
    state: {
      ...state,
      status: "verified",
      missingSince: null,
      failsAt: null,
      failedReason: null,
      verifiedAt: isNew ? at : state.verifiedAt,
      // Spread by a tenth to both sides, so that domains that were added together are not checked together for ever.
      nextCheckAt: after(at, usualMs * (0.9 + 0.2 * random())),
    },
    event: isNew ? "domain.verified" : undefined,
  };
}

function unproven(state: DomainState, at: Date): NextState {
  const ageMs = at.getTime() - state.pendingSince.getTime();
  if (ageMs < provenWithinMs) {
    const nextCheckAt = earlier(checkSoonAfter(state.pendingSince, at), after(state.pendingSince, provenWithinMs));
    return { state: { ...state, nextCheckAt }, event: undefined };
  }
  // A failed domain that was to be verified again has had its event.
  if (state.status === "failed") return { state: { ...state, nextCheckAt: null }, event: undefined };
  return failed(state, "never_proven");
}

/** When a record is looked for again that was asked for at `since`: often at first, and later every 15 minutes. */
export function checkSoonAfter(since: Date, at: Date): Date {
  const ageMs = at.getTime() - since.getTime();
  return after(since, firstChecksMs.find((ms) => ms > ageMs) ?? ageMs + soonMs);
}

/** A proof that is gone twice, 15 minutes apart, makes a verified domain fail. */
function doubted(state: DomainState, proof: Proof, at: Date, { graceHours }: StateSettings): NextState {
  const nextCheckAt = after(at, soonMs);
  if (proof !== "gone") return { state: { ...state, nextCheckAt }, event: undefined };
  const { missingSince } = state;
  if (missingSince === null) return { state: { ...state, missingSince: at, nextCheckAt }, event: undefined };
  if (at.getTime() - missingSince.getTime() < soonMs) {
    return { state: { ...state, nextCheckAt: after(missingSince, soonMs) }, event: undefined };
  }
  const failsAt = after(at, graceHours * hourMs);
  return {
    state: { ...state, status: "failing", failsAt, nextCheckAt: earlier(nextCheckAt, failsAt) },
    event: "domain.failing",
  };
}

function failingStill(state: DomainState, at: Date): NextState {
  const failsAt = state.failsAt ?? at;
  if (at >= failsAt) return failed(state, "proof_gone");
  return { state: { ...state, nextCheckAt: earlier(after(at, soonMs), failsAt) }, event: undefined };
}

function failed(state: DomainState, failedReason: FailedReason): NextState {
  return {
    state: { ...state, status: "failed", failedReason, nextCheckAt: null, failsAt: null, missingSince: null },
    event: "domain.failed",
  };
}

function after(at: Date, ms: number): Date {
  return new Date(at.getTime() + Math.round(ms));
}

function earlier(one: Date, other: Date): Date {
  return one < other ? one : other;
}
