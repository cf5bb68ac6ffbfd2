import { transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import type { Decider } from "../../domain/send/approval.ts";
import {
  approvedDraft,
  refuseDecided,
  refuseOwnDraft,
  rejectedEnd,
  resolvedEvents,
} from "../../domain/send/decide-draft.ts";
import type { Draft } from "../../domain/send/draft.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { findLockedDraft, listDraftFacts, markDraft, markRejectedIn } from "../../store/send/drafts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { writeEnd } from "./end-draft.ts";
import { ownedDraft } from "./write-draft.ts";

/** Called for each decision, with the time for which the mail has waited. */
export type DecisionObserver = (decision: "approved" | "rejected", waitMs: number) => void;

export interface DecidingDeps extends Deps {
  decided?: DecisionObserver | undefined;
}

/** The decision of a person about the version of a draft that the person saw. */
export interface DraftDecision {
  id: string;
  version: number;
  decision: "approve" | "reject";
  by: Decider;
  /** Only of a rejection. */
  reason?: string | undefined;
}

/**
 * Approves or rejects a draft that waits for a person. An approved draft is scheduled in the same transaction, so that a crash or a limit
 * delays the mail and never loses it.
 */
export async function decideDraft(
  deps: DecidingDeps,
  { actor, ...reach }: ActorIn & Reach,
  { id, version, decision, by, reason }: DraftDecision,
): Promise<Draft> {
  const doing = `${decision} draft`;
  const { inboxId, accountId, ...known } = await ownedDraft(deps, reach, id);
  refuseOwnDraft(known, by, doing);
  const decided = await transaction(deps.db.api, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const draft = await findLockedDraft(tx, id);
    const [now] = await listDraftFacts(tx, [id]);
    if (inbox === undefined || draft === undefined || now === undefined) throw notFound("draft");
    refuseDecided(now, version, doing);
    const at = deps.now();
    const action = decision === "approve" ? "draft.approved" : "draft.rejected";
    await audit(tx, deps, at, { action, accountId, actor, target: { type: "message", id } });
    if (decision === "reject") {
      await writeEnd(tx, deps, { inbox, draft, end: rejectedEnd(by, reason), at });
      await markRejectedIn(tx, inboxId, at);
    } else {
      const approved = approvedDraft(draft, by, at);
      await markDraft(tx, approved);
      await markInboxTotals(tx, [inbox]);
      await insertEvents(tx, resolvedEvents(draft, approved, deps.newId("evt", at)));
    }
    return findLockedDraft(tx, id);
  });
  if (decision === "approve") deps.nudge("dispatch");
  deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId }]);
  if (decided === undefined) throw notFound("draft");
  const { approval } = decided;
  const word = decision === "approve" ? "approved" : "rejected";
  if (approval !== null) deps.decided?.(word, deps.now().getTime() - Date.parse(approval.requestedAt));
  return decided;
}
