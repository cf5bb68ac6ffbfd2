import { sql } from "drizzle-orm";
import { type Db, query } from "./session.ts";

interface Care {
  /** How often to look. */
  flushesBetweenLooks: number;
  /** What may have to be replayed after a crash, and what `pg_wal` may grow by. */
  mostUncheckpointedBytes: number;
}

/** A look about once a second under full load, none when idle. */
const usualCare: Care = { flushesBetweenLooks: 256, mostUncheckpointedBytes: 32 * 1024 * 1024 };

/**
 * Does what a server's background processes do and the embedded engine, which has none, does not: without a checkpoint
 * its log of changes grows for ever, and without vacuum its tables do. Driven by the flushes that commits make,
 * so that an idle database is left in peace. Gives the function to call at each flush.
 */
export function careFor(db: () => Db, care: Care = usualCare): () => void {
  let flushes = 0;
  let busy = false;

  async function look(): Promise<void> {
    const [log] = await query<{ grownBytes: number }>(
      db(),
      sql`select (pg_current_wal_insert_lsn() - redo_lsn)::int8 as "grownBytes" from pg_control_checkpoint()`,
    );
    if (log === undefined || log.grownBytes < care.mostUncheckpointedBytes) return;
    await db().script("checkpoint");
    // Statistics are otherwise a second late.
    await query(db(), sql`select pg_stat_force_next_flush()`);
    // As autovacuum judges by default, but for small tables that change all the time, such as the outbox.
    const worn = await query<{ table: string }>(
      db(),
      sql`select quote_ident(relname) as table from pg_stat_user_tables
          where greatest(n_dead_tup, n_mod_since_analyze) > 500 + 0.2 * n_live_tup`,
    );
    for (const { table } of worn) await db().script(`vacuum (analyze) ${table}`);
  }

  return () => {
    if (++flushes % care.flushesBetweenLooks !== 0 || busy) return;
    busy = true;
    // Whatever goes wrong is met again by the next statement, whose caller wants to know.
    setTimeout(() => {
      look()
        .catch(() => undefined)
        .finally(() => {
          busy = false;
        });
    });
  };
}
