import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "./session.ts";
import { DatabaseUnavailable, StatementFailed } from "./unavailable.ts";

/**
 * Refuses a pooler that shares sessions of the server between clients, a transaction at a time: prepared statements, settings and
 * listened channels would get lost, or belong to another client. Each of the two pools has one connection. A mark that one leaves in its
 * session must stay there, and the other must not find it. Most poolers reuse the session that was released last, so one check nearly
 * always shows it; with a round robin it takes several checks, and other clients may come between.
 */
export async function refuseSharedSessions(one: Db, other: Db): Promise<void> {
  try {
    for (const times of [1, 2, 3]) {
      const mark = await answer(
        one,
        sql`select set_config('inboxd.session', clock_timestamp() || ' ' || random(), false) as mark`,
      );
      // One by one: at the same time each would get its own session.
      for (let time = 0; time < times; time++) {
        if ((await answer(other, findMark)) === mark) throw new Error(refusal);
      }
      if ((await answer(one, findMark)) !== mark) throw new Error(refusal);
    }
  } catch (error) {
    // A statement that was just prepared is missing, or its name is taken.
    if (error instanceof StatementFailed && ["26000", "42P05"].includes(error.sqlState)) throw new Error(refusal);
    throw error;
  }
}

const findMark = sql`select current_setting('inboxd.session', true) as mark`;

const refusal =
  "Cannot use this database: what stands before it gives one session to several clients, as PgBouncer does with pool_mode = transaction; set pool_mode = session, or connect to Postgres itself";

async function answer(db: Db, text: SQL): Promise<string | null> {
  const [row] = await query<{ mark: string | null }>(db, text);
  return row?.mark ?? null;
}

/** Adds advice to the error of a pooler that refuses one of the session settings: its message only names the first. */
export function withPoolerCure(error: unknown, settings: readonly string[]): unknown {
  if (!(error instanceof DatabaseUnavailable && error.message.includes("unsupported startup parameter"))) return error;
  const ignored = settings.filter((name) => !handedOn.includes(name)).join(",");
  return new Error(
    `${error.message}: PgBouncer stands before it; there, set ignore_startup_parameters = ${ignored} and pool_mode = session, or connect to Postgres itself`,
  );
}

/** The settings that PgBouncer tracks by default. */
const handedOn = ["application_name", "TimeZone", "DateStyle"];
