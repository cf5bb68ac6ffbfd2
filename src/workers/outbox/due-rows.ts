import type { Kind } from "../../store/outbox/kinds.ts";
import { findNextDueAt, markDueReady, markLanesReady } from "../../store/outbox/outbox.ts";
import type { OutboxDeps } from "./job.ts";

/** How rows that wait step into line: when they are due, or when their lane answers again. */
export interface DueRows {
  isDue(): boolean;
  /** A row is due then. Answers whether that is now. */
  expect(dueAt: Date): boolean;
  /** Who knows what has happened meanwhile: looks with the next round. */
  lookAgain(): void;
  /** `readied`: how many stepped into line. Each step takes a bounded number of rows, and what it leaves is due still. */
  readyDue(inHand: readonly string[]): Promise<{ readied: number; isAll: boolean }>;
  recover(lanes: readonly string[]): void;
  /** Answers how many stepped into line. */
  readyRecovered(): Promise<number>;
}

const rowsPerStep = 500;

type DueRowsDeps = Pick<OutboxDeps, "db" | "now" | "claimer" | "isAlone">;

export function dueRows({ db, now, claimer, isAlone }: DueRowsDeps, kind: Kind, leaseMs: number): DueRows {
  let nextDueAtMs = 0;
  /** Until the rows of dead processes have been found: no further process dies beside one that is alone. */
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
