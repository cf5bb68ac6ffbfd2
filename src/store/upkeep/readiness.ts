import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";

/**
 * Writes as all that is acknowledged is written, and leaves nothing behind: what goes to the log is a lock on a row, which makes no new
 * version of it. Fails where the schema is not there, where nothing may be written, and where the disk is full. A full disk shows
 * first in what needs new room, as a mail does: so something with no room in memory goes through a file, for a moment. That comes
 * first, since the embedded engine outlives its failure and not that of its log.
 */
export async function tryToWrite(db: Db): Promise<void> {
  await transaction(db, async (tx) => {
    await query(tx, sql`set local work_mem = '64kB'`);
    await query(tx, sql`select count(*) from generate_series(1, 10000)`);
  });
  // By itself: a process that stopped in the midst of a transaction would keep the row from all others.
  await query(db, sql`select from schema_steps where step = 0 for no key update`);
}
