import { transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import { type Inbox, type InboxChange, markInboxChanged } from "../../store/account/inboxes.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** Changes an inbox. Throws `not_found` if it was deleted meanwhile. */
export async function changeInbox(
  deps: Deps,
  actor: Actor,
  inbox: Inbox,
  { externalId, retentionDays }: InboxChange,
): Promise<Inbox> {
  return transaction(deps.db.api, async (tx) => {
    const changed = await markInboxChanged(tx, inbox, { externalId, retentionDays });
    if (changed === undefined) throw notFound("inbox");
    const entry = { accountId: inbox.accountId, actor, target: { type: "inbox", id: inbox.id } as const };
    if (externalId !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "inbox.changed", details: { externalId } });
    if (retentionDays !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "retention.changed", details: { retentionDays } });
    return changed;
  });
}
