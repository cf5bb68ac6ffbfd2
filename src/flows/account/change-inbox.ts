import { transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import { type Inbox, type InboxChange, markInboxChanged } from "../../store/account/inboxes.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** Changes an inbox. Throws `not_found` if there is none within the reach. */
export async function changeInbox(
  deps: Deps,
  { actor, ...reach }: ActorIn & Reach,
  id: string,
  { externalId, retentionDays, sendPolicy }: InboxChange,
): Promise<Inbox> {
  return transaction(deps.db.api, async (tx) => {
    const changed = await markInboxChanged(tx, reach, id, { externalId, retentionDays, sendPolicy });
    if (changed === undefined) throw notFound("inbox");
    const entry = { accountId: reach.accountId, actor, target: { type: "inbox", id } as const };
    if (externalId !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "inbox.changed", details: { externalId } });
    if (retentionDays !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "retention.changed", details: { retentionDays } });
    if (sendPolicy !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "policy.changed", details: { sendPolicy } });
    return changed;
  });
}
