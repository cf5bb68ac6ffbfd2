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
  /** A monotonic clock in milliseconds. */
  elapsedMs: () => number;
  lookEveryMs?: number;
}

/** The interval of the readings. Processes may differ for this long after the database's clock is set or another server replaces it. */
const usualLookMs = 2000;
/** A change of the database's clock by this much is logged, because all leases and limits move with it. */
const stepMs = 1000;

/**
 * Starts a clock that shows the database's time. It reads that time every two seconds, and continues between readings by a monotonic clock
 * of this machine. All processes use it for leases, limits and days, so the clocks of their machines do not matter. It continues while the
 * database is away.
 */
export async function startDatabaseClock(deps: DatabaseClockDeps): Promise<DatabaseClock> {
  const { db, log, elapsedMs, lookEveryMs = usualLookMs } = deps;
  // The first reading may include the time to connect, which makes it inaccurate, so a second one follows.
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
      // The pool of connections logs an outage itself.
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
