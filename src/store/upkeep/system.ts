import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

/** Finds the id of the oldest message that is not in the search index yet. Undefined if there is none. */
export async function findOldestUnindexed(db: Db): Promise<string | undefined> {
  const [oldest] = await query<{ id: string }>(
    db,
    sql`select m.id from messages m where m.id > coalesce((select min(seen_id) from search_indexing), '') order by m.id limit 1`,
  );
  return oldest?.id;
}

export async function countFailingDomains(db: Db): Promise<number> {
  const [counted] = await query<{ count: number }>(
    db,
    sql`select count(*) from domains where status = 'failing' and deleted_at is null`,
  );
  return counted?.count ?? 0;
}
