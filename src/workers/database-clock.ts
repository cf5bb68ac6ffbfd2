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

/** For this long processes may use different clocks, after the clock of the database is set or another server takes its place. */
const usualLookMs = 2000;
/** A step of this size is logged, because leases and limits have moved by it. */
const stepMs = 1000;

/**
 * The clock of the database, continued by our own between two looks. All processes use it for leases, limits and days, whatever the
 * clocks of their machines show. It continues while the database is away.
 */
export async function startDatabaseClock(deps: DatabaseClockDeps): Promise<DatabaseClock> {
  const { db, log, elapsedMs, lookEveryMs = usualLookMs } = deps;
  // The first look may include connecting, which makes it inaccurate.
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
      // The pool logs an outage.
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
