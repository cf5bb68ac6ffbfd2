import type { Logger } from "pino";
import { findDatabaseTime } from "../database/clock.ts";
import { DatabaseUnavailable, type Db } from "../database/db.ts";
import { nextOffset } from "../domain/clock-offset.ts";

export interface DatabaseClock {
  now(): Date;
  stop(): Promise<void>;
}

export interface DatabaseClockDeps {
  db: Db;
  log: Logger;
  /** Counts the milliseconds that pass, which nobody can set. */
  elapsedMs: () => number;
  lookEveryMs?: number;
}

/** As long as two processes may go by different clocks when the database's is set, or another server takes its place. */
const usualLookMs = 2000;
/** What an operator should know of: leases and limits have moved by it. */
const stepMs = 1000;

/**
 * The database's clock, carried on by our own count between the looks at it. Leases, limits and days go by it in all processes
 * alike, whatever their machines' clocks say. While the database is away it goes on.
 */
export async function startDatabaseClock(deps: DatabaseClockDeps): Promise<DatabaseClock> {
  const { db, log, elapsedMs, lookEveryMs = usualLookMs } = deps;
  // The first look may have had to connect, which makes it a rough one.
  let offsetMs = await look(await look(undefined));

  async function look(knownMs: number | undefined): Promise<number> {
    const askedMs = elapsedMs();
    const said = await findDatabaseTime(db);
    return nextOffset(knownMs, { readMs: said.getTime(), requestedMs: askedMs, respondedMs: elapsedMs() });
  }

  async function lookAgain(): Promise<void> {
    try {
      const nextMs = await look(offsetMs);
      const movedMs = Math.round(nextMs - offsetMs);
      if (Math.abs(movedMs) >= stepMs) log.warn({ moved_ms: movedMs }, "the database's clock was set");
      offsetMs = nextMs;
    } catch (err) {
      // While the database is away others say so.
      if (!(err instanceof DatabaseUnavailable)) log.error({ err }, "cannot read the database's clock");
    }
  }

  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= lookAgain().finally(() => {
      looking = undefined;
    });
  }, lookEveryMs);

  return {
    now: () => new Date(elapsedMs() + offsetMs),
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}
