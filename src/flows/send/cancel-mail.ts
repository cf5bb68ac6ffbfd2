import { transaction } from "../../database/db.ts";
import type { SentReach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound, Refusal } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { canceledFailure } from "../../domain/outcome.ts";
import { isMessageOf, markCanceled } from "../../store/send/canceling.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

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

/** Throws `not_found` if the caller has no such message to cancel. */
export async function refuseForeignMail(deps: Deps, reach: SentReach, messageId: string): Promise<void> {
  if (!isId("msg", messageId) || !(await isMessageOf(deps.db.api, reach, messageId))) throw notFound("message");
}

export function sendInProgress(doing: string): Refusal {
  return new Refusal("send_in_progress", `Cannot ${doing}: an attempt is running`, { retryAfterSeconds: 1 });
}

function notCancelable(status: string): Refusal {
  const why = status === "received" ? "it is an inbound message" : "all of it is sent, or has failed";
  return new Refusal("not_cancelable", `Cannot cancel message: ${why}`, { extra: { message_status: status } });
}
