import { DatabaseUnavailable } from "../../database/db.ts";
import { groupCommit } from "../../flows/group-commit.ts";
import type { ClaimedItem } from "../../store/outbox/claims.ts";
import { attemptWaiters } from "./attempt-waiters.ts";
import type { InHand } from "./in-hand.ts";
import type { Job, OutboxDeps, SettledClaim } from "./job.ts";

/** Records the results of attempts. */
export interface Ledger<Settlement> {
  /**
   * Records a result. Returns the time when the row is due again: null for never, or if another process has the row now. While the database
   * is away, the result is kept in memory. If the process ends before the database returns, the row is due when its lease ends.
   */
  write(settlement: Settlement): Promise<Date | null>;
  /** Resolves once this process has recorded an attempt of the row, or at the timeout. */
  written(subjectId: string, timeoutMs: number): Promise<void>;
}

const againAfterMs = 500;

export function ledgerOf<Item extends ClaimedItem, Settlement extends SettledClaim>(
  { log }: Pick<OutboxDeps, "log">,
  job: Pick<Job<Item, Settlement>, "kind" | "settle" | "settled" | "gatherMs">,
  { cutOff, count }: Pick<InHand<Item, Settlement>, "cutOff" | "count">,
): Ledger<Settlement> {
  const waiting = attemptWaiters();
  const gather = gatherer(job.gatherMs);
  let writing = 0;
  const commit = groupCommit<Settlement, boolean>({
    commit: async (settlements) => {
      const inForce = await job.settle(settlements);
      return settlements.map(({ subjectId }) => inForce.has(subjectId));
    },
    sizeOf: () => 0,
    isHopeless: (error) => error instanceof DatabaseUnavailable,
    mostItems: 200,
  });

  async function commitOrKeep(settlement: Settlement): Promise<Date | null> {
    const about = { kind: job.kind.name, subject_id: settlement.subjectId, attempt: settlement.attempt };
    for (;;) {
      try {
        if (await commit(settlement)) {
          job.settled?.(settlement);
          return settlement.dueAt;
        }
        log.warn(about, "claim was lost: the row was claimed again or deleted");
        return null;
      } catch (err) {
        if (!(err instanceof DatabaseUnavailable)) {
          log.error({ err, ...about }, "cannot record an attempt");
          return null;
        }
        if (cutOff.aborted) return null;
        await new Promise((resolve) => setTimeout(resolve, againAfterMs));
      }
    }
  }

  return {
    async write(settlement) {
      writing += 1;
      try {
        await gather(count() - writing);
        return await commitOrKeep(settlement);
      } finally {
        writing -= 1;
        waiting.notify(settlement.subjectId);
      }
    },
    written: waiting.until,
  };
}

/**
 * Returns a function that lets the results of a few milliseconds go into one batch. `others` is the number of attempts that have no result
 * yet. If there are none, nobody waits: an attempt alone is recorded at once.
 */
function gatherer(ms: number | undefined): (others: number) => Promise<void> | undefined {
  let gathering: { promise: Promise<void>; end: () => void } | undefined;

  function begin() {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      gathering = undefined;
      resolve();
    }
    return { promise, end };
  }

  return (others) => {
    if (ms === undefined) return undefined;
    if (others > 0) {
      gathering ??= begin();
      return gathering.promise;
    }
    gathering?.end();
    return undefined;
  };
}
