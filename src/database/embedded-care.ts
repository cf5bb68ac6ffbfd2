import { sql } from "drizzle-orm";
import { type Db, query } from "./session.ts";

interface Care {
  /** How often to look. */
  flushesBetweenLooks: number;
  /** What may have to be replayed after a crash, and what `pg_wal` may grow by. */
  mostUncheckpointedBytes: number;
  /** Indexes that are larger are left to a quiet moment: a megabyte takes one or two milliseconds, in which all stands still. */
  mostIndexBytes: number;
  /** So long nobody has committed in a quiet moment. */
  quietMs: number;
  /** Who waits for a quiet moment through so many rounds of care gets none. */
  mostRoundsUnquiet: number;
}

/** A look about once a second under full load, none when idle. */
const usualCare: Care = {
  flushesBetweenLooks: 256,
  mostUncheckpointedBytes: 32 * 1024 * 1024,
  mostIndexBytes: 64 * 1024 * 1024,
  quietMs: 2_000,
  mostRoundsUnquiet: 64,
};

/** How the engine has to be set for care to take as long as the last changes are many, however large the tables are. */
export const careSettings = [
  // A page is frozen when it is first seen, so that no later vacuum has to go through a whole table to do that.
  "vacuum_freeze_min_age=0",
  // Nor through a fifth of what was filled by an earlier inboxd.
  "vacuum_max_eager_freeze_failure_rate=0",
  // Statistics read 3,000 rows, in 20 ms; the usual 30,000 take 230 ms to 700 ms.
  "default_statistics_target=10",
];

/**
 * Does what a server's background processes do and the embedded engine, which has none, does not: without a checkpoint
 * its log of changes grows for ever, and without vacuum its tables do. Driven by the flushes that commits make,
 * so that an idle database is left in peace. Gives the function to call at each flush.
 *
 * All stands still for each of its statements. So a vacuum comes as soon as there are pages that it has not seen, which are few then,
 * and leaves the indexes, which it would have to read whole, until there is much to take out of them.
 */
export function careFor(db: () => Db, change: Partial<Care> = {}): () => void {
  const care = { ...usualCare, ...change };
  /** Tables with large indexes that hold much that is gone, and for how many rounds they have waited. */
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
    // Statistics are otherwise a second late.
    await query(db(), sql`select pg_stat_force_next_flush()`);
    try {
      for (const table of await changedTables(db())) await sweep(table);
    } finally {
      // At the end: what is changed first behind a checkpoint is in the log as a whole page, and vacuum changes what was filled just now.
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
    // By itself it spares itself the indexes where less than 2 % of the pages need them.
    await db().script(`vacuum (index_cleanup on) ${name}`);
  }

  async function sweepInQuiet(): Promise<void> {
    const [first] = worn.keys();
    if (first !== undefined) await sweepWhole(first);
  }

  function start(work: () => Promise<void>): void {
    busy = true;
    // Whatever goes wrong is met again by the next statement, whose caller wants to know.
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
  /** Many of its pages hold what is gone but for its entries in the indexes: each vacuum that leaves them there looks at all of them. */
  isWorn: boolean;
  indexBytes: number;
  isStale: boolean;
}

/** The tables of which something was written since they were swept; what lies apart from its row (TOAST) is swept with its table. */
function changedTables(db: Db): Promise<ChangedTable[]> {
  // Few pages: so that small tables that change all the time, such as the outbox, are swept at each look.
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

/** 64 MB, in which a vacuum looks for 20 to 80 ms. */
const mostWornPages = 8_192;
