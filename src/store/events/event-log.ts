import { sql } from "drizzle-orm";
import { type Database, type Db, query, transaction } from "../../database/db.ts";

/**
 * An event's position in the log is the id of the transaction that wrote it, or of the last one that had ended by then if that
 * is later (`event_log_place()` in `drizzle/`), plus a shift that is 0 until the database moves. Ids are the cluster's: in one that a dump was restored into, they begin again at small ones. Old events would seem to
 * be written by transactions that are yet to come, hence be hidden, and new ones would stand before them. So where an
 * event that can be seen lies past all transactions that ever ended, the shift becomes the last position there is: old
 * positions stay as they are, for readers who stand at one, and all that is written from now on comes behind them.
 */
export async function alignEventLog(db: Database): Promise<void> {
  await db.maintain(async (own) => {
    if ((await findImpossiblePosition(own)) === undefined) return;
    await transaction(own, async (tx) => {
      // Who writes an event now does so by the old shift, and has to end first. Of two processes the second finds nothing to do.
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

/** The last position that lies past all transactions. A look at the index for each account: the log itself may be long. */
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
