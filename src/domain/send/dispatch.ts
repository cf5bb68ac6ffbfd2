import type { Refusal } from "../errors.ts";
import { type FailureReason, type StoredFailure, unsentFailure } from "../outcome.ts";
import { type Draft, longestDelayMs } from "./draft.ts";

/** The consequence of a refused dispatch for its draft. */
export type DispatchVerdict =
  /** It was changed, canceled or sent meanwhile, or is not due. */
  | { kind: "skip" }
  /** Its dispatch is tried again. `inbox`: no other draft of the inbox can be sent before that either. */
  | { kind: "wait"; until: Date; whose: "inbox" | "draft" }
  | { kind: "end"; state: "canceled" | "failed"; failure: StoredFailure };

/** A cause that does not pass by itself at a known time is looked at again after this time. */
const lookAgainMs = 60_000;

interface Consequence {
  reason: FailureReason;
  /** Whom the cause delays. Undefined: it ends the draft at once. */
  delays?: "inbox" | "draft";
}

/** The consequences of refusals. All others end the draft at once, as refused. */
const consequences: Partial<Record<Refusal["reason"], Consequence>> = {
  rate_limit_exceeded: { reason: "limit", delays: "inbox" },
  daily_limit_exceeded: { reason: "limit", delays: "inbox" },
  cold_outreach_limit: { reason: "limit", delays: "draft" },
  loop_detected: { reason: "limit", delays: "draft" },
  quota_exceeded: { reason: "limit", delays: "inbox" },
  inbox_disabled: { reason: "disabled", delays: "inbox" },
  sending_disabled: { reason: "disabled", delays: "inbox" },
  domain_not_verified: { reason: "disabled", delays: "inbox" },
  address_taken: { reason: "disabled", delays: "inbox" },
  unsubscribe_unavailable: { reason: "disabled", delays: "draft" },
  recipient_not_allowed: { reason: "disabled" },
  feature_requires_paid_plan: { reason: "disabled" },
  recipient_suppressed: { reason: "suppressed" },
  not_found: { reason: "gone" },
  idempotency_in_progress: { reason: "timed_out", delays: "inbox" },
  service_unavailable: { reason: "timed_out", delays: "inbox" },
};

/** The verdict about a refused dispatch. A draft waits for at most a day after its time, then it fails. */
export function dispatchVerdict(draft: Pick<Draft, "sendAt">, refusal: Refusal, at: Date): DispatchVerdict {
  const { reason, message, details } = refusal;
  if (reason === "draft_not_open" || reason === "version_mismatch") return { kind: "skip" };
  if (reason === "answered_meanwhile") return ended("canceled", "replied", message);
  const { reason: why, delays } = consequences[reason] ?? { reason: "refused" as const };
  const last = new Date((draft.sendAt?.getTime() ?? 0) + longestDelayMs);
  if (delays === undefined || at >= last) return ended("failed", why, message);
  const resetsAt = details.extra?.resets_at;
  const waitMs = (details.retryAfterSeconds ?? 0) * 1000 || lookAgainMs;
  const until = typeof resetsAt === "string" ? new Date(resetsAt) : new Date(at.getTime() + waitMs);
  return { kind: "wait", until: until < last ? until : last, whose: delays };
}

/** The end of a draft whose account is suspended for so long that its time has passed by a day. */
export const suspendedTooLong = ended("failed", "disabled", "Cannot send: the account is suspended");

function ended(state: "canceled" | "failed", reason: FailureReason, message: string) {
  return { kind: "end" as const, state, failure: unsentFailure(reason, message) };
}
