import { transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import { markInboxGone } from "../../store/account/accounts.ts";
import { findInbox, type Inbox, markAddressesHeld, markInboxDeleted } from "../../store/account/inboxes.ts";
import { signalToForget } from "../../store/channels.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { inboxEvent } from "../events/inbox-event.ts";
import { endKeysOfInbox } from "./manage-keys.ts";

/** How long the address of a deleted inbox, or a deleted alias, stays reserved, so that old mail cannot reach a new owner. */
export const addressReservedMs = 30 * 24 * 3_600_000;

/**
 * Deletes an inbox: it disappears at once, and its rows are deleted in the background. With `expiredBy` only if its time was over at that
 * instant.
 */
export async function deleteInbox(
  deps: Deps,
  { actor, ...reach }: ActorIn & Reach,
  id: string,
  { expiredBy }: { expiredBy?: Date } = {},
): Promise<{ username: string }> {
  const { accountId } = reach;
  const deletedAt = deps.now();
  const { username, hasDeliveries } = await transaction(deps.db.api, async (tx) => {
    const inbox = await findInbox(tx, reach, id);
    if (inbox === undefined || !(await markInboxDeleted(tx, reach, id, deletedAt, expiredBy))) throw notFound("inbox");
    const usernames = [inbox.username, ...inbox.aliases];
    await markAddressesHeld(tx, id, usernames, heldUntil(inbox, deletedAt));
    await markInboxGone(tx, accountId);
    await endKeysOfInbox(deps, tx, { accountId, actor }, id);
    for (const username of usernames) await signalToForget(tx, { kind: "address", username });
    const { username } = inbox;
    await audit(tx, deps, deletedAt, {
      action: "inbox.deleted",
      accountId,
      actor,
      target: { type: "inbox", id },
      details: { username, ...(expiredBy !== undefined && { expiresAt: inbox.expiresAt }) },
    });
    const hasDeliveries = await insertEvents(tx, [inboxEvent(deps, "inbox.deleted", inbox, deletedAt)]);
    return { username, hasDeliveries };
  });
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify([{ accountId, inboxId: id }]);
  return { username };
}

/**
 * The time at which the reservation of an address ends. At an own domain it is free at once, because only the holder of the domain can take
 * the address.
 */
export function heldUntil({ domainId }: Inbox, deletedAt: Date): Date {
  return domainId === null ? new Date(deletedAt.getTime() + addressReservedMs) : deletedAt;
}
