import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "drizzle-orm";
import type { Logger } from "pino";
import { readConfig } from "../../src/config.ts";
import { query } from "../../src/database/db.ts";
import { idMaker } from "../../src/domain/ids.ts";
import type { Deps } from "../../src/flows/deps.ts";
import { packSources, sweepSegments } from "../../src/flows/pack-sources.ts";
import { openDomains } from "../../src/service/domains.ts";
import type { Service } from "../../src/service/start.ts";
import { startDomainChecks } from "../../src/workers/check-domains.ts";
import { emptyRemovedThreads, eraseInboxes, messageExpirer } from "../../src/workers/remove-mail.ts";
import { hurriedMs, hurriedPrefix } from "./approvers.ts";
import { standingRules } from "./standing-rules.ts";

/** How long mail is kept in an inbox with a retention of a day. */
export const keptMs = 10_000;
/** How long the last rows of a deleted inbox are kept, which the service keeps for 23 hours. */
const lastRowsMs = 5_000;
const hourMs = 3_600_000;
const everyMs = 500;
/** How often a day passes for the sweep of segments. */
const sweepEveryMs = 5_000;
/** A proof that is gone is looked for again 15 minutes later. */
export const laterMs = 16 * 60_000;
/** How long a failing domain goes on as before. */
export const graceMs = 10_000;

/** Removes mail and inboxes, and checks domains, by clocks that are ahead. After each removal the totals must equal a count. */
export function workEarly(service: Service, log: Logger, mailKeptMs = keptMs): void {
  const { deps } = service;
  const ahead = (ms: number): Deps => ({ ...deps, now: () => new Date(deps.now().getTime() + ms) });
  const expiring = { ...ahead(24 * hourMs - mailKeptMs), messageRetentionDays: 0 };
  const erasing = ahead(23 * hourMs - lastRowsMs);
  const ending = new AbortController();
  const isStopping = () => ending.signal.aborted;
  const config = readConfig(process.env);
  const domains = openDomains({ config, deps: ahead(laterMs), signal: ending.signal });
  const checks = startDomainChecks({ ...domains, domainGraceHours: graceMs / hourMs });
  process.once("SIGTERM", () => {
    ending.abort();
    void checks.stop();
  });

  /** Ends the wait of mail that is asked for to expire. */
  async function expireOnce(): Promise<void> {
    await query(
      deps.db.work,
      sql`update drafts set due_at = now() where state = 'awaiting_approval' and due_at > now()
          and created_at < now() - ${hurriedMs / 1000} * interval '1 second' and content->>'subject' like ${`${hurriedPrefix}%`}`,
    );
  }

  let sweptMs = performance.now();
  let sweptDays = 0;

  /** Packs sources that are a second old, and sweeps segments as on the next day. Other processes do the same at the same time. */
  async function packOnce(): Promise<void> {
    const { blobs } = deps.db.work;
    if (blobs === undefined) return;
    // Ids of the future would come before those of the service.
    const newId = idMaker(deps.randomBytes);
    const packing = (ms: number) => ({ ...ahead(ms), newId, blobs, blobsAfterMinutes: 60 });
    for (let next: string | undefined = ""; next !== undefined && !isStopping(); ) {
      next = await packSources(packing(2 * hourMs - 1000), next);
    }
    if (performance.now() - sweptMs < sweepEveryMs) return;
    sweptMs = performance.now();
    sweptDays += 1;
    await sweepSegments(packing(sweptDays * 27 * hourMs));
  }

  async function removeOnce(): Promise<void> {
    // Each one looks at all inboxes once an hour.
    await messageExpirer(expiring)(isStopping);
    await eraseInboxes(erasing, isStopping);
    await emptyRemovedThreads(deps, () => undefined, isStopping);
    for (const { what, statement } of standingRules("where retention_days is not null")) {
      const [wrong] = await query(deps.db.work, sql.raw(statement));
      if (wrong !== undefined) log.error({ err: new Error(JSON.stringify(wrong)) }, `after a removal, ${what}`);
    }
  }

  void (async () => {
    while (!isStopping()) {
      await removeOnce().catch((err: unknown) => log.warn({ err }, "nothing is removed early"));
      await packOnce().catch((err: unknown) => log.warn({ err }, "nothing is packed early"));
      await expireOnce().catch((err: unknown) => log.warn({ err }, "nothing expires early"));
      await sleep(everyMs);
    }
  })();
}
