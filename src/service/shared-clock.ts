import type { Logger } from "pino";
import type { Database } from "../database/db.ts";
import { startDatabaseClock } from "../workers/database-clock.ts";
import type { Closers } from "./closers.ts";
import type { TimeAndChance } from "./time-and-chance.ts";

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
