import { transaction } from "../../database/db.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import { type Inbox, markInboxChanged } from "../../store/account/inboxes.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** Gives an inbox another `externalId`. Throws `not_found` if it was deleted meanwhile. */
export async function changeInbox(deps: Deps, actor: Actor, inbox: Inbox, externalId: string | null): Promise<Inbox> {
  return transaction(deps.db.api, async (tx) => {
    const changed = await markInboxChanged(tx, inbox, externalId);
    if (changed === undefined) throw notFound("inbox");
    await audit(tx, deps, deps.now(), {
      action: "inbox.changed",
      accountId: inbox.accountId,
      actor,
      target: { type: "inbox", id: inbox.id },
      details: { externalId },
    });
    return changed;
  });
}
