import { sql } from "drizzle-orm";
import {
  arrayOf,
  type Db,
  directConnections,
  mostConnections,
  openDatabase,
  query,
  refuseWrongDirectUrl,
  roleSettings,
  settingNames,
} from "../../database/db.ts";
import { refuseSharedSessions, withPoolerCure } from "../../database/pooler.ts";
import { openPostgresPool } from "../../database/postgres.ts";
import type { Partitionable, Partitions } from "../../domain/partitions.ts";
import { findLogLagSeconds } from "../events/feeds.ts";
import { judgeSteps, listDoneSteps, migrations } from "../migrate.ts";
import { findDispatchLagSeconds } from "../send/drafts.ts";
import { listBounded, listPartitions } from "./partitions.ts";
import { serviceIdSetting } from "./settings.ts";

/** The facts about a database that `inboxd doctor` judges. Reading them changes nothing, not even the schema. */
export interface DatabaseFacts {
  /** For example `16.4`. */
  version: string;
  encoding: string;
  synchronousCommit: string;
  fsync: string;
  fullPageWrites: string;
  /** `serverAt`: the time by the clock of the server. `askedAt`: the time by our clock, half-way between that query and its answer. */
  serverAt: Date;
  askedAt: Date;
  /** Whether the server is a standby, which is read-only. */
  isInRecovery: boolean;
  /** Whether a setting of the server, the database or the role makes transactions read-only. */
  isReadOnly: boolean;
  /** The most connections that the server allows to ordinary users. */
  connections: number;
  /**
   * `stepsToDo`: the steps of the schema that are not done yet. `unknownSteps`: done steps that this program does not know. `refusedStep`:
   * the first of them with which it must not run.
   */
  stepsToDo: string[];
  unknownSteps: string[];
  refusedStep: string | undefined;
  /** The URLs of the first default endpoints that are not disabled. */
  webhookUrls: string[];
  /** The id that the service shows at its port; undefined before its first start. */
  serviceId: string | undefined;
  /** The age of the oldest event that the log does not show yet, because an older transaction still runs; 0 if there is none. */
  logLagSeconds: number;
  /** The time for which the oldest scheduled mail has been due; 0 if none is. */
  dispatchLagSeconds: number;
  /** The settings that a session has behind a pooler, in the units of `pg_settings`. */
  roleSettings?: RoleSetting[];
  /** Whether raw mail is in an object store. */
  hasSegments: boolean;
  domains: DomainsFound;
  senders: SendersFound;
  partitioning: PartitioningFound;
}

export interface PartitioningFound {
  partitions: Partitions;
  /** The tables whose partitioning has not ended. */
  bounded: Partitionable[];
  /** The partitions and their indexes. A statement may lock those of several tables at once. */
  relations: number;
  /** The locks for which the server has room, and the setting that they depend on. */
  locks: number;
  locksEach: number;
}

export interface RoleSetting {
  role: string;
  database: string;
  name: string;
  value: string;
}

/** The addresses from which the last mails from outside came, at most 100 mails. */
export interface SendersFound {
  mails: number;
  /** The mails whose sender was authenticated. */
  checked: number;
  /** The different addresses of the checked mails; null for mails whose sender's address is unknown. */
  addresses: (string | null)[];
}

/** The own domains as their last checks found them. */
export interface DomainsFound {
  proven: number;
  /** The names of the first failing domains. */
  failing: string[];
  /** The names of the first proven domains with inboxes whose MX record does not lead here. */
  elsewhere: string[];
}

export const oldestPostgres = 15;
export { directConnections, mostConnections, roleSettings };

interface PostgresQuestion {
  url: string;
  /** The URL without the pooler to which `url` leads. */
  directUrl: string | undefined;
  now: () => Date;
}

/** Reads the facts of a Postgres. Rejects if it cannot be reached, or refuses the connection. */
export async function diagnosePostgres({ url, directUrl, now }: PostgresQuestion): Promise<DatabaseFacts> {
  const patience = { connectMs: 5_000, acquireMs: 5_000, deadlineMs: 8_000, statementMs: 6_000, lockMs: 6_000 };
  const timeouts = { idleInTransactionMs: 0, ...patience };
  const isPooled = directUrl !== undefined;
  const open = () => openPostgresPool({ url, isPooled, standbyToo: true, size: 1, ...timeouts });
  const [pool, other] = [open(), open()];
  try {
    if (isPooled) await refuseWrongDirectUrl(pool, { ...timeouts, url: directUrl });
    else await refuseSharedSessions(pool, other);
    return { ...(await factsFrom(pool, now)), ...(isPooled && { roleSettings: await listRoleSettings(pool) }) };
  } catch (error) {
    throw withPoolerCure(error, settingNames);
  } finally {
    await Promise.all([pool.close(), other.close()]);
  }
}

/** Reads the facts of the embedded database. Rejects with DataDirectoryInUse while another process holds it. */
export async function diagnoseEmbedded(dataDir: string, now: () => Date): Promise<DatabaseFacts> {
  const db = await openDatabase({ dataDir });
  try {
    return await db.maintain((own) => factsFrom(own, now));
  } finally {
    await db.close();
  }
}

function listRoleSettings(pooled: Db): Promise<RoleSetting[]> {
  return query(
    pooled,
    sql`select current_user as role, current_database() as database, name, setting as value from pg_settings
        where name = any(${arrayOf("text", Object.keys(roleSettings))})`,
  );
}

type AskedApart =
  | "askedAt"
  | "stepsToDo"
  | "unknownSteps"
  | "refusedStep"
  | "webhookUrls"
  | "serviceId"
  | "logLagSeconds"
  | "dispatchLagSeconds"
  | "hasSegments"
  | "domains"
  | "roleSettings"
  | "senders"
  | "partitioning";

async function factsFrom(db: Db, now: () => Date): Promise<DatabaseFacts> {
  // The connection is opened first, so that the time for it does not count when the clock is read.
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
  if (server === undefined) throw new Error("Cannot diagnose the database: it gave no answer");
  const askedAt = new Date((before.getTime() + now().getTime()) / 2);
  const steps = judgeSteps(await listDoneSteps(db), migrations);
  const isBehind = steps.toDo.length > 0;
  const urls = (await isThere(db, "endpoints"))
    ? await query<{ url: string }>(
        db,
        sql`select url from endpoints where is_default and url is not null and disabled_at is null order by created_at limit ${mostWebhooks}`,
      )
    : [];
  const [service] = (await isThere(db, "settings"))
    ? await query<{ value: string }>(db, sql`select value from settings where name = ${serviceIdSetting}`)
    : [];
  return {
    ...server,
    askedAt,
    stepsToDo: steps.toDo,
    unknownSteps: steps.unknown,
    refusedStep: steps.refused,
    webhookUrls: urls.map(({ url }) => url),
    serviceId: service?.value,
    logLagSeconds: isBehind ? 0 : await findLogLagSeconds(db),
    dispatchLagSeconds: isBehind ? 0 : await findDispatchLagSeconds(db),
    hasSegments: (await isThere(db, "segments")) && (await query(db, sql`select 1 from segments limit 1`)).length > 0,
    domains: (await isThere(db, "domains")) ? await findDomains(db) : { proven: 0, failing: [], elsewhere: [] },
    senders: isBehind ? { mails: 0, checked: 0, addresses: [] } : await findSenders(db),
    partitioning: await findPartitioning(db),
  };
}

async function findPartitioning(db: Db): Promise<PartitioningFound> {
  const partitions = await listPartitions(db);
  const names = Array.from(partitions.values(), (own) => own.map(({ name }) => name)).flat();
  const [found] = await query<Omit<PartitioningFound, "partitions" | "bounded">>(
    db,
    sql`select (select count(*) from pg_class c left join pg_index i on i.indrelid = c.oid
          where c.relnamespace = current_schema()::regnamespace and c.relname::text = any(${arrayOf("text", names)}))
            + ${names.length}::int as relations,
          current_setting('max_locks_per_transaction')::int8 * (current_setting('max_connections')::int8
            + current_setting('max_prepared_transactions')::int8) as locks,
          current_setting('max_locks_per_transaction')::int as "locksEach"`,
  );
  if (found === undefined) throw new Error("Cannot diagnose the database: it gave no answer");
  return { partitions, bounded: await listBounded(db), ...found };
}

/** Looks at the newest 1,000 messages, so that the statement stays quick in an account that only sends. */
export async function findSenders(db: Db): Promise<SendersFound> {
  const [found] = await query<SendersFound>(
    db,
    sql`with newest as (select direction, authentication from messages order by id desc limit 1000),
          inbound as (
            select authentication from newest
            where direction = 'inbound' and coalesce(authentication->>'internal', 'false') = 'false' limit 100)
        select count(*)::int as mails, count(authentication)::int as checked,
          coalesce(json_agg(distinct authentication->'clientAddress') filter (where authentication is not null), '[]') as addresses
        from inbound`,
  );
  return found ?? { mails: 0, checked: 0, addresses: [] };
}

async function findDomains(db: Db): Promise<DomainsFound> {
  const [found] = await query<DomainsFound>(
    db,
    sql`with proven as (
          select name, status = 'failing' as failing, exists (
            select from inboxes i where i.domain_id = domains.id and i.deleted_at is null
          ) and not records_seen @> jsonb_build_array(jsonb_build_object('purpose', 'mx', 'name', name, 'status', 'valid')) as elsewhere
          from domains where status in ('verified', 'failing') and deleted_at is null)
        select count(*) as proven,
          array(select name from proven where failing order by name limit ${mostDomains}) as failing,
          array(select name from proven where elsewhere order by name limit ${mostDomains}) as elsewhere
        from proven`,
  );
  return found ?? { proven: 0, failing: [], elsewhere: [] };
}

/** The most domains to name in one finding. */
const mostDomains = 10;

/** The most webhook URLs to check. They are enough to see whether the network allows requests to webhooks. */
const mostWebhooks = 10;

async function isThere(db: Db, table: string): Promise<boolean> {
  const [row] = await query<{ is: boolean }>(db, sql`select to_regclass(${table}) is not null as is`);
  return row?.is === true;
}
