import { expiredEnd } from "../../domain/send/decide-draft.ts";
import { dispatchVerdict, suspendedTooLong } from "../../domain/send/dispatch.ts";
import { longestDelayMs } from "../../domain/send/draft.ts";
import type { SendRequest, SendResult } from "../../domain/send/send.ts";
import { claimDueDrafts, type DueDraft, postponeDrafts } from "../../store/send/drafts.ts";
import type { Deps } from "../deps.ts";
import { endDraft } from "./end-draft.ts";
import { requestOfDraft, type WholeDraft, wholeDrafts } from "./request-of-draft.ts";

export interface DispatchDeps extends Deps {
  sendEmail: (request: SendRequest) => Promise<SendResult>;
  /** Called with the time since it was due, for each draft that was sent. */
  dispatched?: ((lagMs: number) => void) | undefined;
}

/** The most drafts that are claimed at a time, and how long other processes leave them alone. */
const mostClaimed = 500;
const leaseMs = 15_000;

/** Dispatches the drafts that are due. Returns whether there may be more. */
export async function dispatchDrafts(deps: DispatchDeps): Promise<boolean> {
  const now = deps.now();
  const overdueBefore = new Date(now.getTime() - longestDelayMs);
  const due = await claimDueDrafts(deps.db.work, { now, leaseMs, limit: mostClaimed, overdueBefore });
  if (due.length === 0) return false;
  const whole = await wholeDrafts(deps.db.work, due);
  const postponed = await Promise.all(
    [...Map.groupBy(whole, ({ draft }) => draft.inboxId).values()].map((drafts) => dispatchInOrder(deps, drafts)),
  );
  await postponeDrafts(deps.db.work, postponed.flat());
  return due.length === mostClaimed;
}

interface Postponed {
  id: string;
  version: number;
  dueAt: Date;
}

/** Dispatches drafts of one inbox one after the other, in the order of their times. Returns those that wait. */
async function dispatchInOrder(
  deps: DispatchDeps,
  drafts: readonly (WholeDraft & { draft: DueDraft })[],
): Promise<Postponed[]> {
  const postponed: Postponed[] = [];
  for (const [index, whole] of drafts.entries()) {
    const verdict = await dispatchOne(deps, whole);
    if (verdict === undefined) continue;
    const { until: dueAt, whose } = verdict;
    const waiting = whose === "draft" ? [whole] : drafts.slice(index);
    postponed.push(...waiting.map(({ draft: { id, version } }) => ({ id, version, dueAt })));
    if (whose === "inbox") break;
  }
  return postponed;
}

/**
 * Dispatches a draft, or ends one that nobody approved in time. Returns until when it must wait; undefined if it is sent, has ended, waits
 * for a person, or was changed meanwhile.
 */
async function dispatchOne(deps: DispatchDeps, whole: WholeDraft & { draft: DueDraft }) {
  const { draft } = whole;
  if (draft.state === "awaiting_approval") {
    await endDraft(deps, draft, expiredEnd);
    return undefined;
  }
  if (draft.isSuspended) {
    await endDraft(deps, draft, suspendedTooLong);
    return undefined;
  }
  const at = deps.now();
  const step = { kind: "dispatch" as const, draft };
  const result = await deps.sendEmail(
    requestOfDraft(whole, { account: requesterOf(draft), idempotencyKey: draft.id, step }),
  );
  if (result.kind === "accepted") deps.dispatched?.(deps.now().getTime() - (draft.dueAt ?? at).getTime());
  if (result.kind !== "refused") return undefined;
  const verdict = dispatchVerdict(draft, result.refusal, at);
  if (verdict.kind === "wait") return verdict;
  if (verdict.kind === "end") await endDraft(deps, draft, verdict);
  return undefined;
}

/** The key that asked for a draft, with the rights that it has now. */
function requesterOf(draft: DueDraft): SendRequest["account"] {
  const { accountId, requestedBy, plan, limits, sendPolicies, onlyInboxId, onlyExternalId } = draft;
  return {
    id: accountId,
    keyId: requestedBy,
    plan,
    limits,
    sendPolicies,
    reach: { accountId, inboxId: onlyInboxId ?? undefined, externalId: onlyExternalId ?? undefined },
  };
}
