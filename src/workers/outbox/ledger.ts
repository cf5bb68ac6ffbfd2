import { DatabaseUnavailable } from "../../database/db.ts";
import { groupCommit } from "../../flows/group-commit.ts";
import type { ClaimedItem } from "../../store/outbox/claims.ts";
import { attemptWaiters } from "./attempt-waiters.ts";
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
  job: Pick<Job<Item, Settlement>, "kind" | "settle" | "settled">,
  cutOff: AbortSignal,
): Ledger<Settlement> {
  const waiting = attemptWaiters();
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
      const dueAt = await commitOrKeep(settlement);
      waiting.notify(settlement.subjectId);
      return dueAt;
    },
    written: waiting.until,
  };
}
