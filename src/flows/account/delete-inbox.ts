import { transaction } from "../../database/db.ts";
import { notFound } from "../../domain/errors.ts";
import { markInboxGone } from "../../store/account/accounts.ts";
import { signalToForget } from "../../store/account/forget-signals.ts";
import { findInbox, markAddressHeld, markInboxDeleted } from "../../store/account/inboxes.ts";
import { insertEvents } from "../../store/events/fan-out.ts";
import type { Deps } from "../deps.ts";
import { inboxEvent } from "../events/inbox-event.ts";

/** An address of a deleted inbox is kept from everyone for as long, so that old mail can't reach a new owner. */
const quarantineMs = 30 * 24 * 3_600_000;

/** The inbox is out of reach at once; its rows are removed in the background. */
export async function deleteInbox(deps: Deps, accountId: string, id: string): Promise<{ username: string }> {
  const deletedAt = deps.now();
  const { username, promised } = await transaction(deps.db.api, async (tx) => {
    const inbox = await findInbox(tx, accountId, id);
    if (inbox === undefined || !(await markInboxDeleted(tx, accountId, id, deletedAt))) throw notFound("inbox");
    await markAddressHeld(tx, id, inbox.username, new Date(deletedAt.getTime() + quarantineMs));
    await markInboxGone(tx, accountId);
    await signalToForget(tx, { kind: "address", username: inbox.username });
    const promised = await insertEvents(tx, [inboxEvent(deps, "inbox.deleted", inbox, deletedAt)]);
    return { username: inbox.username, promised };
  });
  for (const kind of promised) deps.nudge(kind);
  deps.changes.notify([{ accountId, inboxId: id }]);
  return { username };
}
