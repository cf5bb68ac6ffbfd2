import { transaction } from "../../database/db.ts";
import type { ActorIn } from "../../domain/access/actor.ts";
import { markRetention } from "../../store/account/accounts.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";

/** Sets the days after which mail of an account is removed; null for the default of the service. */
export async function changeRetention(
  deps: Deps,
  { accountId, actor }: ActorIn,
  retentionDays: number | null,
): Promise<void> {
  await transaction(deps.db.api, async (tx) => {
    await markRetention(tx, accountId, retentionDays);
    const target = { type: "account", id: accountId } as const;
    await audit(tx, deps, deps.now(), {
      action: "retention.changed",
      accountId,
      actor,
      target,
      details: { retentionDays },
    });
  });
}
