import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";

/*
 * Each message and each upload that names a source has one share of it. The bytes are removed with the last share. The first piece of a
 * source has the number of shares. A transaction locks this piece before it changes the number, so that it never counts from an outdated
 * value. It locks in the order of ids, so that two transactions with several sources cannot deadlock.
 */

/** Parts of a statement that release shares. `released` selects each `source_id` once, with the number of shares to release (`holders`). */
export function sharesReleased(released: SQL): SQL {
  return sql`shared as materialized (
      select of_source.source_id, piece.shares - of_source.holders as shares
      from (${released} order by source_id) of_source
      cross join lateral (select shares from source_chunks
        where source_id = of_source.source_id and part = 0 and seq = 0 for update) piece
    ),
    kept as (
      update source_chunks c set shares = shared.shares from shared
      where c.source_id = shared.source_id and c.part = 0 and c.seq = 0 and shared.shares > 0
    ),
    unshared as (delete from source_chunks where source_id = any(array(select source_id from shared where shares <= 0)))`;
}

/** Releases one share of a source for each time that its id is in the list. */
export async function releaseShares(tx: Db, sourceIds: readonly string[]): Promise<void> {
  if (sourceIds.length === 0) return;
  const released = sql`select source_id, count(*) as holders from unnest(${arrayOf("text", sourceIds)}) as held (source_id) group by source_id`;
  await query(tx, sql`with ${sharesReleased(released)} select`);
}
