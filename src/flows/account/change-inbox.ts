import { transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { notFound } from "../../domain/errors.ts";
import { refuseTooManyKeys } from "../../domain/metadata.ts";
import { type Inbox, type InboxChange, markInboxChanged } from "../../store/account/inboxes.ts";
import { signalToForget } from "../../store/channels.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** Changes an inbox. Throws `not_found` if there is none within the reach. */
export async function changeInbox(
  deps: Deps,
  { actor, ...reach }: ActorIn & Reach,
  id: string,
  change: InboxChange,
): Promise<Inbox> {
  const at = deps.now();
  return transaction(deps.db.api, async (tx) => {
    const changed = await markInboxChanged(tx, reach, id, change, at);
    if (changed === undefined) throw notFound("inbox");
    refuseTooManyKeys(changed.metadata, "change inbox");
    if (change.disabled !== undefined)
      for (const username of [changed.username, ...changed.aliases])
        await signalToForget(tx, { kind: "address", username });
    const entry = { accountId: reach.accountId, actor, target: { type: "inbox", id } as const };
    const { retentionDays, sendPolicy, metadata, ...others } = change;
    const details = {
      ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined)),
      ...(metadata !== undefined && { metadata: Object.keys(metadata ?? {}) }),
    };
    if (Object.keys(details).length > 0) await audit(tx, deps, at, { ...entry, action: "inbox.changed", details });
    if (retentionDays !== undefined)
      await audit(tx, deps, at, { ...entry, action: "retention.changed", details: { retentionDays } });
    if (sendPolicy !== undefined)
      await audit(tx, deps, at, { ...entry, action: "policy.changed", details: { sendPolicy } });
    return changed;
  });
}
