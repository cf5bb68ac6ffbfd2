import type { Kind } from "../../store/outbox/kinds.ts";
import { findNextDueAt, markDueReady, markLanesReady } from "../../store/outbox/outbox-rows.ts";
import type { OutboxDeps } from "./job.ts";

/** Makes waiting rows ready when they are due, or when the server of their lane answers again. */
export interface DueRows {
  isDue(): boolean;
  /** Notes when a row is due. Returns whether it is due now. */
  expect(dueAt: Date): boolean;
  /** Forgets the next due time, so that the next round looks for due rows. */
  lookAgain(): void;
  /** Makes a bounded number of due rows ready. `readied`: how many. `isAll`: whether none is left. */
  readyDue(inHand: readonly string[]): Promise<{ readied: number; isAll: boolean }>;
  /** Notes that the servers of these lanes answer again. */
  recover(lanes: readonly string[]): void;
  /** Makes rows of recovered lanes ready. Returns how many. */
  readyRecovered(): Promise<number>;
}

const rowsPerStep = 500;

type DueRowsDeps = Pick<OutboxDeps, "db" | "now" | "claimer" | "isAlone">;

export function dueRows({ db, now, claimer, isAlone }: DueRowsDeps, kind: Kind, leaseMs: number): DueRows {
  let nextDueAtMs = 0;
  /**
   * Set if no other process can use the database, until this one has made the rows ready that earlier processes had claimed: those
   * processes have ended.
   */
  let onlyClaimer = isAlone ? claimer : undefined;
  let recovering: readonly string[] = [];

  return {
    isDue: () => now().getTime() >= nextDueAtMs,
    expect(dueAt) {
      nextDueAtMs = Math.min(nextDueAtMs, dueAt.getTime());
      return dueAt <= now();
    },
    lookAgain() {
      nextDueAtMs = 0;
    },
    async readyDue(inHand) {
      const readied = await markDueReady(db, { kind, now: now(), inHand, leaseMs, limit: rowsPerStep, onlyClaimer });
      const isAll = readied < rowsPerStep;
      if (isAll) onlyClaimer = undefined;
      if (isAll) nextDueAtMs = (await findNextDueAt(db, kind.name))?.getTime() ?? Number.POSITIVE_INFINITY;
      return { readied, isAll };
    },
    recover(lanes) {
      recovering = [...new Set([...recovering, ...lanes])];
    },
    async readyRecovered() {
      const answering = recovering;
      if (answering.length === 0) return 0;
      const readied = await markLanesReady(db, kind.name, answering, rowsPerStep);
      if (readied < rowsPerStep && recovering === answering) recovering = [];
      return readied;
    },
  };
}
