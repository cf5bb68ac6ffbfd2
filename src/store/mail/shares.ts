import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";

/*
 * A source is held by each message and each upload that names it, once each; who lets go of it last takes its bytes along. How many hold
 * it stands on its first piece. Whoever changes that locks the piece first, in the order of ids, so that two who share several
 * sources wait for each other instead of dying, and nobody counts from what was read before he had the lock.
 */

/** Parts of a statement that let go of sources: `letGo` selects `source_id` and `holders`, how many let go of it. */
export function givenBack(letGo: SQL): SQL {
  return sql`shared as materialized (
      select of_source.source_id, piece.shares - of_source.holders as shares
      from (${letGo} order by source_id) of_source
      cross join lateral (select shares from source_chunks
        where source_id = of_source.source_id and part = 0 and seq = 0 for update) piece
    ),
    kept as (
      update source_chunks c set shares = shared.shares from shared
      where c.source_id = shared.source_id and c.part = 0 and c.seq = 0 and shared.shares > 0
    ),
    unshared as (delete from source_chunks where source_id = any(array(select source_id from shared where shares <= 0)))`;
}

/** Lets go of these sources, once for each time that one is named. */
export async function giveBackShares(tx: Db, sourceIds: readonly string[]): Promise<void> {
  if (sourceIds.length === 0) return;
  const letGo = sql`select source_id, count(*) as holders from unnest(${arrayOf("text", sourceIds)}) as held (source_id) group by source_id`;
  await query(tx, sql`with ${givenBack(letGo)} select`);
}
