import { sql } from "drizzle-orm";
import type { BlobStore } from "../blobs/blob-store.ts";
import { within } from "../primitives/within.ts";
import { type DirectoryLock, lockDirectory } from "./directory-lock.ts";
import { openEmbedded } from "./embedded.ts";
import { careFor } from "./embedded-care.ts";
import { clusterIn, reserveCluster } from "./embedded-cluster.ts";
import { listenPostgres } from "./notifications.ts";
import { openPool } from "./pool.ts";
import type { PoolUsage } from "./pooled-connections.ts";
import { refuseAnotherDatabase, refuseSharedSessions, withPoolerCure } from "./pooler.ts";
import { openPostgresPool, ownSettings, type PostgresPoolOptions, sessionSettings } from "./postgres.ts";
import { type Db, query } from "./session.ts";
import { DatabaseSlow } from "./unavailable.ts";

export { DataDirectoryInUse } from "./directory-lock.ts";
export { type Db, query, statement, transaction } from "./session.ts";
export {
  askedTooMuch,
  DatabaseSlow,
  DatabaseUnavailable,
  diskFull,
  isLockConflict,
  isLockTimeout,
  missingFile,
  readOnly,
  StatementFailed,
  violates,
} from "./unavailable.ts";
export { arrayOf, jsonb, shownInstant } from "./wire.ts";

/** The database, on either engine. */
export interface Database {
  engine: "postgres" | "embedded";
  /**
   * The pools of the API, of accepting sends, of incoming mail and of the workers. They are separate, so that a flood in one does not starve
   * the others. Only the API's uses plans that depend on the parameters, since only lists need them.
   */
  api: Db;
  sends: Db;
  mail: Db;
  work: Db;
  /** Calls `onNotify` for each notification on a channel, until the returned function is called. Reconnects if the connection is lost. */
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onState?: (connected: boolean) => void,
  ): Promise<() => Promise<void>>;
  /** Runs work, and throws if it takes longer than `promptlyMs`. With a server, it has its own connection. */
  promptly(work: (own: Db) => Promise<unknown>): Promise<void>;
  /** Runs long work, such as a migration or an export, on one connection of its own without time-outs. */
  maintain<T>(work: (own: Db) => Promise<T>): Promise<T>;
  /** When a commit last reached the disk, by `performance.now()`. Undefined if it is not known, as always with a server. */
  committedMs(): number | undefined;
  /** The use of each pool, by its name. The embedded database has one pool for all. */
  usage(): Readonly<Record<string, PoolUsage>>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** The URL of a Postgres; without it the database is the embedded one in `dataDir`. */
  url?: string | undefined;
  /**
   * The URL of the same database without the pooler to which `url` leads, and which gives sessions to other clients after each transaction.
   * Notifications, migrations and long work use it.
   */
  directUrl?: string | undefined;
  dataDir: string;
  /** The store for bytes outside of the database; undefined: there is none. */
  blobs?: BlobStore | undefined;
  connections?: Partial<Record<"api" | "sends" | "mail" | "work", number>>;
  timeouts?: Partial<Timeouts>;
  /** Whether a standby is as good as the primary, for work that only reads. */
  standbyToo?: boolean;
  onWarning?: (warning: string) => void;
}

export type Timeouts = Omit<PostgresPoolOptions, "url" | "isPooled" | "standbyToo" | "size"> & { promptlyMs: number };

const usualConnections = { api: 10, sends: 4, mail: 6, work: 6 };

/** The connections of one process that never lead through a pooler: one for maintenance, and three that listen. */
export const directConnections = 4;

/** The most connections of one process: its pools, one for prompt work, and those above. */
export const mostConnections = Object.values(usualConnections).reduce((sum, size) => sum + size, 1 + directConnections);

/** The default time-outs. The server's limits are shorter than the deadline, so that usually the server reports the time-out. */
const usualTimeouts: Timeouts = {
  connectMs: 3_000,
  acquireMs: 5_000,
  lockMs: 6_000,
  statementMs: 8_000,
  deadlineMs: 10_000,
  idleInTransactionMs: 15_000,
  promptlyMs: 1_500,
};

/**
 * Settings that make the planner use indexes. Workers, mail and sends run short statements on tables that may be empty now and have 100,000
 * rows a minute later, and one plan must fit both. A claim took 5 ms with these settings, and 70 ms with the planner's choice. A plan is made
 * once for each connection: the facts of a single send were planned for each request, which took 0.6 ms, and read in 0.05 ms.
 */
const byIndex = { enable_seqscan: "off", enable_bitmapscan: "off", plan_cache_mode: "force_generic_plan" };

/** Settings for batches of mails, which find their rows by key: these must not scan a whole table for a join either. */
const rowByRow = { ...byIndex, enable_hashjoin: "off", enable_mergejoin: "off" };

/** The names of all settings that our sessions use. */
export const settingNames = Object.keys(sessionSettings({ ...usualTimeouts, settings: rowByRow }));

/** The settings that the role needs behind a pooler, in the units of `pg_settings`. */
export const roleSettings: Readonly<Record<string, string | number>> = ownSettings(usualTimeouts);

export function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.url === undefined ? openEmbeddedDatabase(options) : openPostgresDatabase(options.url, options);
}

async function openPostgresDatabase(url: string, options: DatabaseOptions): Promise<Database> {
  const { standbyToo = false } = options;
  const timeouts = { ...usualTimeouts, ...options.timeouts, standbyToo };
  const connections = { ...usualConnections, ...options.connections };
  const isPooled = options.directUrl !== undefined;
  const directUrl = options.directUrl ?? url;
  const { blobs } = options;
  const pool = (size: number, settings = {}) => {
    return { ...openPostgresPool({ url, isPooled, size, settings, ...timeouts }), blobs };
  };
  const pools = {
    api: pool(connections.api),
    sends: pool(connections.sends, byIndex),
    mail: pool(connections.mail, rowByRow),
    work: pool(connections.work, byIndex),
  };
  const quick = { connectMs: timeouts.promptlyMs, deadlineMs: timeouts.promptlyMs, acquireMs: timeouts.promptlyMs };
  const prompt = openPostgresPool({ url, isPooled, size: 1, ...timeouts, ...quick });
  // The connection stays, because work may hold advisory locks of its session.
  const lifetimeMs = Number.POSITIVE_INFINITY;
  const unhurried = { ...timeouts, deadlineMs: 0, statementMs: 0, lockMs: 0, idleInTransactionMs: 0, lifetimeMs };
  const close = () => Promise.all([...Object.values(pools), prompt].map((each) => each.close()));
  try {
    if (isPooled) await refuseWrongDirectUrl(pools.api, { ...timeouts, url: directUrl });
    else await refuseSharedSessions(pools.api, pools.work);
    await judgeServer(pools.api, options.onWarning);
  } catch (error) {
    await close();
    throw withPoolerCure(error, settingNames);
  }
  return {
    engine: "postgres",
    api: pools.api,
    sends: pools.sends,
    mail: pools.mail,
    work: pools.work,
    listen: (channel, onNotify, onState) => listenPostgres({ url: directUrl, ...timeouts }, channel, onNotify, onState),
    promptly: (work) => promptly(timeouts.promptlyMs, work(prompt)),
    async maintain(work) {
      const own = openPostgresPool({ url: directUrl, size: 1, ...unhurried });
      return work(own).finally(own.close);
    },
    committedMs: () => undefined,
    usage: () => Object.fromEntries(Object.entries(pools).map(([name, each]) => [name, each.usage()])),
    async close() {
      await close();
    },
  };
}

/** Refuses a direct URL that leads to another database than the pooled one, or through such a pooler too. */
export async function refuseWrongDirectUrl(
  pooled: Db,
  options: Omit<Timeouts, "promptlyMs"> & { url: string },
): Promise<void> {
  const [one, other] = [openPostgresPool({ ...options, size: 1 }), openPostgresPool({ ...options, size: 1 })];
  try {
    await refuseSharedSessions(one, other);
    await refuseAnotherDatabase(pooled, one);
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
}

async function openEmbeddedDatabase(options: DatabaseOptions): Promise<Database> {
  const timeouts = { ...usualTimeouts, ...options.timeouts };
  const lock = await takeDirectory(options.dataDir);
  const care = careFor(() => pool);
  let committedMs: number | undefined;
  function onFlush(): void {
    committedMs = performance.now();
    care();
  }
  const embedded = await openEmbedded(options.dataDir, { onFlush }).catch((error) => {
    lock.release();
    throw error;
  });
  const pool = {
    ...openPool({
      size: 1,
      connect: embedded.connect,
      acquireMs: timeouts.acquireMs,
      lifetimeMs: Number.POSITIVE_INFINITY,
    }),
    blobs: options.blobs,
  };
  return {
    engine: "embedded",
    api: pool,
    sends: pool,
    mail: pool,
    work: pool,
    async listen(channel, onNotify, onState) {
      const stop = await embedded.listen(channel, onNotify);
      onState?.(true);
      return stop;
    },
    promptly: (work) => promptly(timeouts.promptlyMs, work(pool)),
    maintain: (work) => work(pool),
    committedMs: () => committedMs,
    usage: () => ({ all: pool.usage() }),
    async close() {
      await pool.close();
      await embedded.close().finally(lock.release);
    },
  };
}

async function takeDirectory(dataDir: string): Promise<DirectoryLock> {
  try {
    const found = await reserveCluster(dataDir);
    const lock = lockDirectory(dataDir);
    if (found !== "lost") return lock;
    lock.release();
    // Do not make a new database here: the start would seem to succeed, and all mail would seem to be lost.
    throw new Error(
      `Cannot open ${clusterIn(dataDir)}: it is gone, though ${dataDir} was in use before; restore it from a backup, or set DATA_DIR to an empty directory to start a new one`,
    );
  } catch (error) {
    // An error with a code is from the operating system, and has no advice for the operator, which is added here.
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new Error(
      `Cannot use DATA_DIR ${dataDir}: ${error.message}; let the user that runs inboxd own it, or set DATA_DIR elsewhere`,
    );
  }
}

/** Refuses a server that cannot store our data, and warns of one that may lose it. */
async function judgeServer(db: Db, warn: (warning: string) => void = () => undefined): Promise<void> {
  const [server] = await query<Record<"version" | "encoding" | "synchronous_commit" | "fsync", string>>(
    db,
    sql`select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
               current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync`,
  );
  if (server === undefined) return;
  if (Number.parseInt(server.version, 10) < oldestVersion) {
    throw new Error(
      `Cannot use this database: it is Postgres ${server.version}; version ${oldestVersion} or later is required`,
    );
  }
  if (server.encoding !== "UTF8") {
    throw new Error(`Cannot use this database: its encoding is ${server.encoding}; UTF8 is required to store all mail`);
  }
  // The SMTP reply 250 promises that the mail is on disk. That is not true if one of these settings is off.
  for (const name of ["synchronous_commit", "fsync"] as const) {
    if (server[name] !== "off") continue;
    warn(`${name} is off in the database: mail that was acknowledged can be lost when its machine fails`);
  }
}

const oldestVersion = 15;

async function promptly(ms: number, work: Promise<unknown>): Promise<void> {
  await within(ms, work, () => {
    throw new DatabaseSlow(`no answer in ${ms} ms`);
  });
}
