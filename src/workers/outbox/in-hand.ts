import { BlobsAway } from "../../blobs/blob-store.ts";
import { DatabaseUnavailable } from "../../database/db.ts";
import type { ClaimedItem } from "../../store/outbox/claims.ts";
import { renewLeases } from "../../store/outbox/outbox-rows.ts";
import type { Attempted, Job, OutboxDeps, SettledClaim } from "./job.ts";

/** The rows that this process has claimed and started, and their leases. */
export interface InHand<Item, Settlement> {
  ids(): string[];
  count(): number;
  /** Makes one attempt. The row stays in hand until `conclude` has ended. */
  attempt<Result>(item: Item, conclude: (attempted: Attempted<Settlement>) => Promise<Result>): Promise<Result>;
  renewIfTime(): void;
  /** Aborts after the `graceMs` of `end`, and cuts off the attempts in hand. */
  cutOff: AbortSignal;
  /** Resolves when `noMore` has resolved and all rows in hand have ended. After `graceMs` they are cut off. */
  end(graceMs: number, noMore: Promise<void>): Promise<void>;
}

export function rowsInHand<Item extends ClaimedItem, Settlement extends SettledClaim>(
  { db, now, log }: Pick<OutboxDeps, "db" | "now" | "log">,
  job: Pick<Job<Item, Settlement>, "kind" | "leaseMs" | "attempt" | "failed">,
): InHand<Item, Settlement> {
  const kind = job.kind.name;
  /** Each row, with a promise for its end. A row is here twice if it was claimed again during its earlier attempt. */
  const rows = new Map<Item, Promise<unknown>>();
  const cutOff = new AbortController();
  let renewedMs = performance.now();

  async function outcomeOf(item: Item): Promise<Attempted<Settlement>> {
    try {
      return await job.attempt(item, cutOff.signal);
    } catch (err) {
      const about = { err, kind, subject_id: item.subjectId, attempt: item.attempt };
      // An outage is only a warning, because the next attempt can read what this one could not.
      if (err instanceof DatabaseUnavailable) log.warn(about, "attempt put off: the database is unavailable");
      else if (err instanceof BlobsAway) log.warn(about, "attempt put off: the object store is away");
      else log.error(about, "attempt failed: unexpected error");
      return { settlement: job.failed(item), leaving: "unknown" };
    }
  }

  return {
    ids: () => [...rows.keys()].map(({ subjectId }) => subjectId),
    count: () => rows.size,
    attempt(item, conclude) {
      const concluded = outcomeOf(item)
        .then(conclude)
        .finally(() => rows.delete(item));
      rows.set(item, concluded);
      return concluded;
    },
    renewIfTime() {
      if (performance.now() - renewedMs <= job.leaseMs / 3) return;
      const beforeMs = renewedMs;
      renewedMs = performance.now();
      renewLeases(db, [...rows.keys()], new Date(now().getTime() + job.leaseMs)).catch((err: unknown) => {
        // Tries again at the next call: after an outage, a lease may end within less than a third.
        renewedMs = beforeMs;
        log.warn({ err, kind }, "cannot renew leases");
      });
    },
    cutOff: cutOff.signal,
    async end(graceMs, noMore) {
      const timer = setTimeout(() => cutOff.abort(), graceMs);
      await noMore;
      await Promise.all(rows.values());
      clearTimeout(timer);
    },
  };
}
