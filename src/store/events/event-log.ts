import { sql } from "drizzle-orm";
import { type Database, type Db, query, transaction } from "../../database/db.ts";

/**
 * An event's position in the log is the id of the transaction that wrote it, or of the last one that had ended by then if that is later
 * (`event_log_place()` in `drizzle/`), plus a shift. The shift is 0 until the database moves to another cluster, by a dump: transaction
 * ids start again at small numbers there. Old events would then seem to come from future transactions and be hidden, and new events
 * would come before them. So if an event lies after all transactions that ever ended, the shift becomes the last position. Old
 * positions stay valid for readers, and all new events come after them.
 */
export async function alignEventLog(db: Database): Promise<void> {
  await db.maintain(async (own) => {
    if ((await findImpossiblePosition(own)) === undefined) return;
    await transaction(own, async (tx) => {
      // Waits for transactions that write events with the old shift. The second of two processes finds nothing to do.
      await query(tx, sql`lock table events in share row exclusive mode`);
      const last = await findImpossiblePosition(tx);
      if (last === undefined) return;
      await query(
        tx,
        sql`create or replace function event_log_shift() returns bigint language sql stable
            return ${sql.raw(String(BigInt(last)))}::bigint`,
      );
    });
  });
}

/** The last position after all transactions. One index look-up for each account, since the log may be long. */
async function findImpossiblePosition(db: Db): Promise<string | undefined> {
  const [last] = await query<{ position: string }>(
    db,
    sql`select last.written_by as position from accounts
        cross join lateral (
          select written_by from events where account_id = accounts.id order by written_by desc limit 1
        ) last
        where last.written_by >= ((pg_snapshot_xmax(pg_current_snapshot())::text::bigint + event_log_shift())::text)::xid8
        order by last.written_by desc limit 1`,
  );
  return last?.position;
}
