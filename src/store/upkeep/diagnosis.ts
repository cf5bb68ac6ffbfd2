import { sql } from "drizzle-orm";
import { type Db, mostConnections, openDatabase, query, settingNames } from "../../database/db.ts";
import { refuseSharedSessions, withPoolerCure } from "../../database/pooler.ts";
import { openPostgresPool } from "../../database/postgres.ts";
import { findLogLagSeconds } from "../events/feeds.ts";
import { migrations } from "../migrate.ts";
import { serviceIdSetting } from "./settings.ts";

/** What the doctor looks at. Nothing is changed: not even the schema is brought up to date. */
export interface DatabaseFacts {
  /** As the server says it, for example `16.4`. */
  version: string;
  encoding: string;
  synchronousCommit: string;
  fsync: string;
  fullPageWrites: string;
  /** What its clock said, and ours half-way between asking and answer. */
  serverAt: Date;
  askedAt: Date;
  /** Read-only: a standby. */
  isInRecovery: boolean;
  /** Read-only by a setting of the server, the database or the role. */
  isReadOnly: boolean;
  /** Connections that the server has for us and other users. */
  connections: number;
  /** Steps of the schema that are to be done, and those that this program does not know. */
  stepsToDo: string[];
  unknownSteps: string[];
  /** Where events go. */
  webhookUrls: string[];
  /** By which the service answers at its port; undefined before its first start. */
  serviceId: string | undefined;
  /** For how long an older transaction has held back the log of events. */
  logLagSeconds: number;
}

export const oldestPostgres = 15;
export { mostConnections };

/** Asks a Postgres. Rejects when it can't be reached, or does not let us in. */
export async function diagnosePostgres(url: string, now: () => Date): Promise<DatabaseFacts> {
  const patience = { connectMs: 5_000, acquireMs: 5_000, deadlineMs: 8_000, statementMs: 6_000, lockMs: 6_000 };
  const open = () => openPostgresPool({ url, size: 1, idleInTransactionMs: 0, ...patience });
  const [pool, other] = [open(), open()];
  try {
    await refuseSharedSessions(pool, other);
    return await factsFrom(pool, now);
  } catch (error) {
    throw withPoolerCure(error, settingNames);
  } finally {
    await Promise.all([pool.close(), other.close()]);
  }
}

/** Asks the embedded database. Rejects with DataDirectoryInUse while another process holds it. */
export async function diagnoseEmbedded(dataDir: string, now: () => Date): Promise<DatabaseFacts> {
  const db = await openDatabase({ dataDir });
  try {
    return await db.maintain((own) => factsFrom(own, now));
  } finally {
    await db.close();
  }
}

type AskedApart = "askedAt" | "stepsToDo" | "unknownSteps" | "webhookUrls" | "serviceId" | "logLagSeconds";

async function factsFrom(db: Db, now: () => Date): Promise<DatabaseFacts> {
  // Connecting takes its time; the clock is asked on a connection that is there.
  await query(db, sql`select 1`);
  const before = now();
  const [server] = await query<Omit<DatabaseFacts, AskedApart>>(
    db,
    sql`select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
       current_setting('synchronous_commit') as "synchronousCommit", current_setting('fsync') as fsync,
       current_setting('full_page_writes') as "fullPageWrites", clock_timestamp() as "serverAt",
       pg_is_in_recovery() as "isInRecovery", current_setting('default_transaction_read_only')::bool as "isReadOnly",
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as connections`,
  );
  if (server === undefined) throw new Error("Cannot diagnose the database: it answers nothing");
  const askedAt = new Date((before.getTime() + now().getTime()) / 2);
  const done = (await isThere(db, "schema_steps"))
    ? await query<{ tag: string }>(db, sql`select tag from schema_steps order by step`)
    : [];
  const known = migrations.map(({ tag }) => tag);
  const doneTags = done.map(({ tag }) => tag);
  const urls = (await isThere(db, "webhooks"))
    ? await query<{ url: string }>(
        db,
        sql`select url from webhooks where url is not null and disabled_at is null order by created_at limit ${mostWebhooks}`,
      )
    : [];
  const [service] = (await isThere(db, "settings"))
    ? await query<{ value: string }>(db, sql`select value from settings where name = ${serviceIdSetting}`)
    : [];
  return {
    ...server,
    askedAt,
    stepsToDo: known.slice(doneTags.length),
    unknownSteps: doneTags.filter((tag, step) => known[step] !== tag),
    webhookUrls: urls.map(({ url }) => url),
    serviceId: service?.value,
    logLagSeconds: doneTags.length < known.length ? 0 : await findLogLagSeconds(db),
  };
}

/** An operator with a thousand accounts asks whether the way out is open, not for each receiver. */
const mostWebhooks = 10;

async function isThere(db: Db, table: string): Promise<boolean> {
  const [row] = await query<{ is: boolean }>(db, sql`select to_regclass(${table}) is not null as is`);
  return row?.is === true;
}
