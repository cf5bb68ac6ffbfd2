import { instantOfId } from "../../domain/ids.ts";
import { findUsageLagSeconds } from "../../store/account/usage.ts";
import { migrations } from "../../store/migrate.ts";
import { listOutboxDepths } from "../../store/outbox/outbox-rows.ts";
import { countFailingDomains, findOldestUnindexed } from "../../store/upkeep/system.ts";
import type { Deps } from "../deps.ts";

/** How much there is to do, and how far the background work is behind. */
export async function systemState({ db, now }: Pick<Deps, "db" | "now">) {
  const at = now();
  const secondsSince = (then: Date) => Math.max(0, Math.round((at.getTime() - then.getTime()) / 1000));
  const [depths, unindexed, usageLagSeconds, domainsFailing] = await Promise.all([
    listOutboxDepths(db.api),
    findOldestUnindexed(db.api),
    findUsageLagSeconds(db.api, at),
    countFailingDomains(db.api),
  ]);
  return {
    schemaStep: migrations.at(-1)?.tag ?? "",
    outbox: depths.map(({ kind, state, count, oldestAt }) => ({
      kind,
      state,
      count,
      oldestSeconds: secondsSince(oldestAt),
    })),
    searchLagSeconds: unindexed === undefined ? 0 : secondsSince(instantOfId(unindexed)),
    usageLagSeconds: Math.round(usageLagSeconds),
    domainsFailing,
  };
}
