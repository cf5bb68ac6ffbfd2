import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "./session.ts";
import { DatabaseUnavailable, StatementFailed } from "./unavailable.ts";

/**
 * Refuses a pooler that gives a session of the server to another client after each transaction: prepared statements, settings and listened
 * channels would be lost, or belong to another client. It uses one connection of each of the two pools. A mark that the first one sets in
 * its session must stay there, and the second one must not find it. Most poolers reuse the session that was released last, so one check is
 * nearly always enough. A pooler that takes its sessions in turn needs several checks, and other clients may use a session in between.
 */
export async function refuseSharedSessions(one: Db, other: Db): Promise<void> {
  try {
    for (const times of [1, 2, 3]) {
      const mark = await answer(
        one,
        sql`select set_config('inboxd.session', clock_timestamp() || ' ' || random(), false) as mark`,
      );
      // One statement after the other, because concurrent ones would get different sessions.
      for (let time = 0; time < times; time++) {
        if ((await answer(other, findMark)) === mark) throw new Error(refusal);
      }
      if ((await answer(one, findMark)) !== mark) throw new Error(refusal);
    }
  } catch (error) {
    // These errors also show a shared session: a statement that was just prepared is missing, or its name is taken.
    if (error instanceof StatementFailed && ["26000", "42P05"].includes(error.sqlState)) throw new Error(refusal);
    throw error;
  }
}

const findMark = sql`select current_setting('inboxd.session', true) as mark`;

const refusal =
  "Cannot use this database: a pooler in front of it shares one session between several clients, as PgBouncer does with pool_mode = transaction; set DATABASE_POOLED=1 and DATABASE_DIRECT_URL to Postgres itself, or set pool_mode = session, or connect to Postgres itself";

/** Refuses two URLs that lead to different databases: one of them would get the schema, and the other one the mail. */
export async function refuseAnotherDatabase(pooled: Db, direct: Db): Promise<void> {
  // The start of the server tells it from others, also from its standby and its copies.
  const which = sql`select pg_postmaster_start_time() || ' ' || oid as mark from pg_database where datname = current_database()`;
  if ((await answer(pooled, which)) === (await answer(direct, which))) return;
  throw new Error("Cannot use this database: DATABASE_URL and DATABASE_DIRECT_URL lead to different ones");
}

async function answer(db: Db, text: SQL): Promise<string | null> {
  const [row] = await query<{ mark: string | null }>(db, text);
  return row?.mark ?? null;
}

/** Adds advice to the error of a pooler that refuses session settings. It names all settings, because the error names only the first. */
export function withPoolerCure(error: unknown, settings: readonly string[]): unknown {
  if (!(error instanceof DatabaseUnavailable && error.message.includes("unsupported startup parameter"))) return error;
  const ignored = settings.filter((name) => !handedOn.includes(name)).join(",");
  return new Error(
    `${error.message}: PgBouncer is in front of it; there, set ignore_startup_parameters = ${ignored} and pool_mode = session, or connect to Postgres itself`,
  );
}

/** The settings that PgBouncer tracks by default. */
const handedOn = ["application_name", "TimeZone", "DateStyle"];
