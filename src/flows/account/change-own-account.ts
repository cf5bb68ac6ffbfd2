import { transaction } from "../../database/db.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { markOwnChange, type OwnChange } from "../../store/account/accounts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** Sets the days after which mail of an account is removed (null for the default of the service), and to whom the account may send. */
export async function changeOwnAccount(
  deps: Deps,
  { accountId, actor }: ActorIn,
  { retentionDays, sendPolicy }: OwnChange,
): Promise<void> {
  await transaction(deps.db.api, async (tx) => {
    await markOwnChange(tx, accountId, { retentionDays, sendPolicy });
    const entry = { accountId, actor, target: { type: "account", id: accountId } } as const;
    if (retentionDays !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "retention.changed", details: { retentionDays } });
    if (sendPolicy !== undefined)
      await audit(tx, deps, deps.now(), { ...entry, action: "policy.changed", details: { sendPolicy } });
  });
}
