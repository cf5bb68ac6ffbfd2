import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "./session.ts";
import { DatabaseUnavailable, StatementFailed } from "./unavailable.ts";

/**
 * Refuses a pooler that gives one session of the server to several clients, one transaction each: a statement that was prepared, a
 * setting or a channel that is listened to would be another's, or gone. Each of the two has one connection. A mark that one
 * leaves in its session must stay there, and not be found by the other. A pooler gives the session that came back last to who
 * asks next, so one look nearly always shows it; where they go round, it depends on how often is asked, and others may come between.
 */
export async function refuseSharedSessions(one: Db, other: Db): Promise<void> {
  try {
    for (const times of [1, 2, 3]) {
      const mark = await answer(
        one,
        sql`select set_config('inboxd.session', clock_timestamp() || ' ' || random(), false) as mark`,
      );
      // One by one: asked at once, they would get a session each.
      for (let time = 0; time < times; time++) {
        if ((await answer(other, findMark)) === mark) throw new Error(refusal);
      }
      if ((await answer(one, findMark)) !== mark) throw new Error(refusal);
    }
  } catch (error) {
    // A statement that was prepared a moment ago is not there, or one of that name already is.
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

/** With what to do, where a pooler refused one of the settings that sessions begin with: it names the first and does not help. */
export function withPoolerCure(error: unknown, settings: readonly string[]): unknown {
  if (!(error instanceof DatabaseUnavailable && error.message.includes("unsupported startup parameter"))) return error;
  const ignored = settings.filter((name) => !handedOn.includes(name)).join(",");
  return new Error(
    `${error.message}: PgBouncer stands before it; there, set ignore_startup_parameters = ${ignored} and pool_mode = session, or connect to Postgres itself`,
  );
}

/** PgBouncer knows these by itself. */
const handedOn = ["application_name", "TimeZone", "DateStyle"];
