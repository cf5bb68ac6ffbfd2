import { transaction } from "../../database/db.ts";
import type { SentReach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { canceledFailure } from "../../domain/outcome.ts";
import { deciderOf } from "../../domain/send/approval.ts";
import { isWaiting, statusOfDraft } from "../../domain/send/draft.ts";
import { lockInboxes } from "../../store/account/inboxes.ts";
import { isMessageOf, markCanceled } from "../../store/send/canceling.ts";
import { findDraft, findLockedDraft } from "../../store/send/drafts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { writeEnd } from "./end-draft.ts";

/**
 * Cancels a mail for all recipients that are still pending. This is refused while an attempt is under way, because the relay may still
 * accept a mail that the caller then believes to be canceled.
 */
export async function cancelMail(
  deps: Deps,
  { actor, ...reach }: ActorIn & SentReach,
  messageId: string,
): Promise<void> {
  if (!isId("msg", messageId)) throw notFound("message");
  if (await cancelScheduled(deps, { actor, ...reach }, messageId)) return;
  const { accountId } = reach;
  const at = deps.now();
  const eventId = deps.newId("evt", at);
  const canceled = await transaction(deps.db.api, async (tx) => {
    const canceled = await markCanceled(tx, { reach, messageId, at, eventId, failure: canceledFailure });
    const target = { type: "message", id: messageId } as const;
    if (canceled?.outcome === "canceled")
      await audit(tx, deps, at, { action: "outbox.canceled", accountId, actor, target });
    return canceled;
  });
  if (canceled === undefined) throw notFound("message");
  const { outcome, status, inboxId, hasDeliveries } = canceled;
  if (outcome === "in_progress") throw sendInProgress("cancel message");
  if (outcome === undefined) throw notCancelable(status);
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId }]);
}

/** Cancels a draft that is scheduled or waits for a person. Returns false if the mail is no draft any more: it is then canceled as a message. */
async function cancelScheduled(
  deps: Deps,
  { actor, ...reach }: ActorIn & SentReach,
  messageId: string,
): Promise<boolean> {
  const known = await findDraft(deps.db.api, reach, messageId);
  if (known === undefined || known.state === "sent") return false;
  const { accountId, inboxId } = known;
  const ended = await transaction(deps.db.api, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const draft = await findLockedDraft(tx, messageId);
    // A draft that nobody has sent is no message.
    if (inbox === undefined || draft?.acceptedAt == null) throw notFound("message");
    if (draft.state === "sent") return undefined;
    if (!isWaiting(draft.state)) throw notCancelable(statusOfDraft(draft));
    const at = deps.now();
    const end = { state: "canceled", failure: canceledFailure, by: deciderOf(actor) } as const;
    const hasDeliveries = await writeEnd(tx, deps, { inbox, draft, end, at });
    await audit(tx, deps, at, {
      action: "outbox.canceled",
      accountId,
      actor,
      target: { type: "message", id: messageId },
    });
    return { hasDeliveries };
  });
  if (ended === undefined) return false;
  if (ended.hasDeliveries) deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId }]);
  return true;
}

/** Throws `not_found` if the caller has no such message to cancel. */
export async function refuseForeignMail(deps: Deps, reach: SentReach, messageId: string): Promise<void> {
  const isKnown =
    isId("msg", messageId) &&
    ((await isMessageOf(deps.db.api, reach, messageId)) ||
      (await findDraft(deps.db.api, reach, messageId))?.acceptedAt != null);
  if (!isKnown) throw notFound("message");
}

export function sendInProgress(doing: string, why = "an attempt is running"): Refusal {
  return new Refusal("send_in_progress", `Cannot ${doing}: ${why}`, { retryAfterSeconds: 1 });
}

function notCancelable(status: string): Refusal {
  const why = status === "received" ? "it is an inbound message" : "all of it is sent, or has failed";
  return new Refusal("not_cancelable", `Cannot cancel message: ${why}`, { extra: { message_status: status } });
}
