import type { Logger } from "pino";
import type { Database } from "../database/db.ts";
import { startDatabaseClock } from "../workers/database-clock.ts";
import type { Closers } from "./closers.ts";

/** Time and chance, which everything else is given: this file alone may ask the machine for them. */
export interface TimeAndChance {
  now: () => Date;
  /** Counts the milliseconds that pass. With it a service goes by its database's clock, which this carries on, and not by `now`. */
  elapsedMs?: () => number;
  random: () => number;
  randomBytes: (length: number) => Uint8Array;
}

export const realWorld: TimeAndChance = {
  now: () => new Date(),
  elapsedMs: performance.now.bind(performance),
  random: Math.random,
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};

/** With the clock that all processes on this database share, if the machine's is to be had: limits and leases are theirs in common. */
export async function bySharedClock(
  own: TimeAndChance,
  { db, log, opened }: { db: Database; log: Logger; opened: Closers },
): Promise<TimeAndChance> {
  if (own.elapsedMs === undefined) return own;
  const clock = await startDatabaseClock({ db: db.work, log, elapsedMs: own.elapsedMs });
  opened.push(clock.stop);
  return { ...own, now: clock.now };
}
