import { cleanLine } from "../../standards/smtp-reply.ts";
import { Refusal } from "../errors.ts";
import type { NewEvent } from "../events/event-types.ts";
import { type StoredFailure, unsentFailure } from "../outcome.ts";
import { type ApprovalDecision, approvalDecided, type Decider } from "./approval.ts";
import { type Draft, type DraftFact, draftNotOpen, factsOfEvent, versionMismatch } from "./draft.ts";

/** How a draft ends without being sent. */
export interface UnsentEnd {
  state: "canceled" | "rejected" | "expired" | "failed";
  failure: StoredFailure;
  /** The one who ended it, if a person did. */
  by?: Decider | undefined;
  /** The reason that was given for a rejection. */
  reason?: string | undefined;
}

/** Refuses a decision of a key about a draft that it made. */
export function refuseOwnDraft({ requestedBy }: Pick<Draft, "requestedBy">, by: Decider, doing: string): void {
  if (!("key" in by) || by.key !== requestedBy) return;
  throw new Refusal("approval_forbidden", `Cannot ${doing}: your key made the draft, so another one must decide`);
}

/** Refuses a decision about a draft that does not wait for one, or that has changed since the decider saw it. */
export function refuseDecided(now: DraftFact, version: number, doing: string): void {
  if (now.state !== "awaiting_approval") throw draftNotOpen(doing, now);
  if (now.version !== version) throw versionMismatch(doing, now.version);
}

/** The draft after its approval. It is due at its time, or at once if that has passed or if it has none. */
export function approvedDraft(draft: Draft, by: Decider, at: Date): Draft {
  const sendAt = draft.sendAt === null || draft.sendAt < at ? at : draft.sendAt;
  const decided = withDecision(draft, { decision: "approved", by }, at);
  return { ...decided, state: "scheduled", sendAt, dueAt: sendAt, updatedAt: at };
}

/** The draft after an end without being sent. If it waited for a person, the end is the decision. */
export function endedDraft(draft: Draft, { state, failure, by, reason }: UnsentEnd, at: Date): Draft {
  const decision = state === "failed" ? "canceled" : state;
  return { ...withDecision(draft, { decision, by, reason }, at), state, failure, dueAt: null, updatedAt: at };
}

function withDecision(
  draft: Draft,
  { decision, by, reason }: { decision: ApprovalDecision; by: Decider | undefined; reason?: string | undefined },
  at: Date,
): Draft {
  const { approval, version, state } = draft;
  if (approval === null || state !== "awaiting_approval") return draft;
  return { ...draft, approval: approvalDecided(approval, { decision, by: by ?? null, reason, version, at }) };
}

/** The event that tells how the waiting of a draft has ended. Empty if it did not wait for a person before. */
export function resolvedEvents(before: Draft, after: Draft, id: string): NewEvent<"approval.resolved">[] {
  const { approval, version, updatedAt } = after;
  if (before.state !== "awaiting_approval" || approval === null) return [];
  const { decision, decidedBy, decidedAt, reason, edited } = approval;
  const data = { id: after.id, version, decision, decidedBy, decidedAt, reason, edited };
  return [{ ...factsOfEvent(after, id, updatedAt), type: "approval.resolved", data }];
}

export const expiredEnd: UnsentEnd = {
  state: "expired",
  failure: unsentFailure("expired", "Nobody approved it in time"),
};

export function rejectedEnd(by: Decider, reason: string | undefined): UnsentEnd {
  const why = "A person rejected it";
  const message = cleanLine(reason === undefined ? why : `${why}: ${reason}`);
  return { state: "rejected", failure: unsentFailure("rejected", message), by, reason };
}
