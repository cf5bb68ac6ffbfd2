import { type SQL, sql } from "drizzle-orm";
import { type Database, type Db, query, transaction } from "../../database/db.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";

/**
 * Raises the shift of the log if the database was moved to another cluster by a dump. The position of an event is the id of the
 * transaction that wrote it, or of the last transaction that had ended by then if that is higher, plus the shift (`event_log_position()` in
 * `drizzle/`). The shift is 0 at first. In another cluster transaction ids start again at small numbers: old events would seem to come
 * from future transactions and be hidden, and new events would come before them. So if the position of an event is too high for this
 * cluster, the highest such position becomes the shift. Old positions stay valid for readers, and all new events come after them.
 */
export function alignEventLog(db: Database): Promise<void> {
  return raiseShift(db, findImpossiblePosition);
}

/** Raises the shift of the log, if needed, so that an event may come into it at this position and all new events come after it. */
export function raiseEventLog(db: Database, position: string): Promise<void> {
  return raiseShift(db, async (own) => {
    const [found] = await query(own, sql`select where ${isImpossible(numberOf(position))}`);
    return found && position;
  });
}

async function raiseShift(db: Database, impossibleIn: (own: Db) => Promise<string | undefined>): Promise<void> {
  await db.maintain(async (own) => {
    if ((await impossibleIn(own)) === undefined) return;
    await transaction(own, async (tx) => {
      // Waits for transactions that write events with the old shift. The second of two processes finds nothing to do.
      await query(tx, sql`lock table events in share row exclusive mode`);
      const last = await impossibleIn(tx);
      if (last === undefined) return;
      await query(
        tx,
        sql`create or replace function event_log_shift() returns bigint language sql stable
            return ${sql.raw(String(BigInt(last)))}::bigint`,
      );
    });
  });
}

/** A position as a row that can be compared with `(written_by, id)`. */
export function rowOf({ writtenBy, id }: LogPosition): SQL {
  return sql`(${numberOf(writtenBy)}, ${id}::text collate "C")`;
}

/** The value of `written_by` from its text. Its type is named only in this file, because other engines have none like it. */
export function numberOf(writtenBy: string | SQL): SQL {
  return sql`${writtenBy}::xid8`;
}

/** Whether no transaction of this cluster can have written an event at this position yet. */
function isImpossible(position: SQL): SQL {
  const next = sql`((pg_snapshot_xmax(pg_current_snapshot())::text::bigint + event_log_shift())::text)`;
  return sql`${position} >= ${numberOf(next)}`;
}

/**
 * Finds the last position in the log, if no transaction of this cluster can have had it yet. It makes one index look-up for each account,
 * since the log may be long.
 */
async function findImpossiblePosition(db: Db): Promise<string | undefined> {
  const [last] = await query<{ position: string }>(
    db,
    sql`select last.written_by as position from accounts
        cross join lateral (
          select written_by from events where account_id = accounts.id order by written_by desc limit 1
        ) last
        where ${isImpossible(sql`last.written_by`)}
        order by last.written_by desc limit 1`,
  );
  return last?.position;
}
