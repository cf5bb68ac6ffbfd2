import { sql } from "drizzle-orm";
import { type Db, query } from "./session.ts";

interface Care {
  /** The number of flushes to the disk between two checks of the write-ahead log. */
  flushesBetweenLooks: number;
  /** The growth of the log after which tables are vacuumed and a checkpoint is made. It limits the replay after a crash, and `pg_wal`. */
  mostUncheckpointedBytes: number;
  /** The size above which the vacuum of a table's indexes waits for a quiet moment: each megabyte blocks the database for 1 to 2 ms. */
  mostIndexBytes: number;
  /** The time without a commit after which a moment counts as quiet. */
  quietMs: number;
  /** The most vacuums for which the indexes of a table wait for a quiet moment. After them they are vacuumed anyway. */
  mostRoundsUnquiet: number;
}

/**
 * The default values. With them, checks come several times a second under full load, and never when the database is idle. A flush of an
 * upload writes more than a megabyte, so the log grows by some tens of megabytes between two checks at most.
 */
const usualCare: Care = {
  flushesBetweenLooks: 32,
  mostUncheckpointedBytes: 32 * 1024 * 1024,
  mostIndexBytes: 64 * 1024 * 1024,
  quietMs: 2_000,
  mostRoundsUnquiet: 64,
};

/** Settings of the engine with which vacuum and statistics take time only for recent changes, however large the tables are. */
export const careSettings = [
  // Vacuum freezes a page when it first sees it, so that no later vacuum has to read a whole table.
  "vacuum_freeze_min_age=0",
  // The statistics of a table then read 3,000 rows, in 20 ms. With the default of 100 they read 30,000, in 230 to 700 ms.
  "default_statistics_target=10",
];

/**
 * Does the work of a server's background processes, which the embedded engine lacks: without checkpoints its log would grow for ever, and
 * without vacuum its tables would. Returns a function that must be called at each flush of a commit. It starts the checks, so that an idle
 * database has no work.
 *
 * Each of these statements blocks the database. So a table is vacuumed soon, while it has few new pages. The vacuum leaves out the indexes
 * until they have many dead entries, because it would have to read each index as a whole.
 */
export function careFor(db: () => Db, change: Partial<Care> = {}): () => void {
  const care = { ...usualCare, ...change };
  /** The tables whose large indexes wait for a quiet moment, each with the number of vacuums that it has waited. */
  const worn = new Map<string, number>();
  let flushes = 0;
  let busy = false;
  let quiet: ReturnType<typeof setTimeout> | undefined;

  async function look(): Promise<void> {
    const [log] = await query<{ grownBytes: number }>(
      db(),
      sql`select (pg_current_wal_insert_lsn() - redo_lsn)::int8 as "grownBytes" from pg_control_checkpoint()`,
    );
    if (log === undefined || log.grownBytes < care.mostUncheckpointedBytes) return;
    // Without this, the statistics of changed rows may be a second old.
    await query(db(), sql`select pg_stat_force_next_flush()`);
    try {
      for (const table of await changedTables(db())) await sweep(table);
    } finally {
      // The checkpoint comes after the vacuum: the first change of a page after a checkpoint writes the whole page to the log, and vacuum
      // changes new pages.
      await db().script("checkpoint");
    }
  }

  async function sweep({ name, isWorn, indexBytes, isStale }: ChangedTable): Promise<void> {
    const rounds = worn.get(name) ?? 0;
    if (!isWorn) await db().script(`vacuum (index_cleanup off) ${name}`);
    else if (indexBytes <= care.mostIndexBytes || rounds >= care.mostRoundsUnquiet) await sweepWhole(name);
    else worn.set(name, rounds + 1);
    if (isStale) await db().script(`analyze ${name}`);
  }

  async function sweepWhole(name: string): Promise<void> {
    worn.delete(name);
    // By default vacuum skips the indexes if less than 2 % of the pages need them.
    await db().script(`vacuum (index_cleanup on) ${name}`);
  }

  async function sweepInQuiet(): Promise<void> {
    const [first] = worn.keys();
    if (first !== undefined) await sweepWhole(first);
  }

  function start(work: () => Promise<void>): void {
    busy = true;
    // Errors are ignored here: the next statement of a caller meets the same error, and the caller handles it.
    work()
      .catch(() => undefined)
      .finally(() => {
        busy = false;
        awaitQuiet();
      });
  }

  function awaitQuiet(): void {
    clearTimeout(quiet);
    if (worn.size === 0 || busy) return;
    quiet = setTimeout(() => start(sweepInQuiet), care.quietMs);
    quiet.unref();
  }

  return () => {
    flushes++;
    if (busy) return;
    if (flushes % care.flushesBetweenLooks !== 0) return awaitQuiet();
    busy = true;
    clearTimeout(quiet);
    setTimeout(() => start(look));
  };
}

interface ChangedTable {
  name: string;
  /** Whether many of its pages have dead rows with index entries. Each vacuum that leaves out the indexes reads all of these pages. */
  isWorn: boolean;
  indexBytes: number;
  isStale: boolean;
}

/** Lists the tables with many changes since their last vacuum. A TOAST table is vacuumed with its table. */
function changedTables(db: Db): Promise<ChangedTable[]> {
  // A fifth of the pages is enough, so that a small table that always changes, such as the outbox, is vacuumed with its indexes each time.
  const worn = (of: string) =>
    sql.raw(`${of}.relpages - ${of}.relallvisible > least(0.2 * ${of}.relpages, ${mostWornPages})`);
  return query<ChangedTable>(
    db,
    sql`select quote_ident(s.relname) as name, ${worn("c")} or coalesce(${worn("t")}, false) as "isWorn",
          pg_indexes_size(c.oid) + coalesce(pg_indexes_size(t.oid), 0) as "indexBytes",
          s.n_mod_since_analyze > 500 + 0.2 * s.n_live_tup as "isStale"
        from pg_stat_user_tables s join pg_class c on c.oid = s.relid left join pg_class t on t.oid = c.reltoastrelid
        where s.n_dead_tup + s.n_ins_since_vacuum > 500 or s.n_mod_since_analyze > 500 + 0.2 * s.n_live_tup`,
  );
}

/** The number of pages with dead rows above which a table is always worn: 64 MB, which a vacuum reads in 20 to 80 ms. */
const mostWornPages = 8_192;
