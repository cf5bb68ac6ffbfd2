import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";

/**
 * Tries a write that leaves nothing behind: a row lock, which writes to the write-ahead log but makes no new version of the row. It fails
 * if the schema is missing, the database is read-only, or the disk is full. Before it, a query with too little memory writes a temporary
 * file, because a full disk fails first for new files. The embedded engine survives a failure of that file, but not of its log.
 */
export async function tryToWrite(db: Db): Promise<void> {
  await transaction(db, async (tx) => {
    await query(tx, sql`set local work_mem = '64kB'`);
    await query(tx, sql`select count(*) from generate_series(1, 10000)`);
  });
  // Outside of the transaction, because a process that was stopped in the middle of it would keep the row locked.
  await query(db, sql`select from schema_steps where step = 0 for no key update`);
}
