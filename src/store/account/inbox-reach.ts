import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

const tables = { thread: sql.raw("threads"), message: sql.raw("messages"), event: sql.raw("events") };

/** Whether a thing is of this inbox. */
export async function isOfInbox(db: Db, resource: keyof typeof tables, id: string, inboxId: string): Promise<boolean> {
  const found = await query(db, sql`select 1 from ${tables[resource]} where id = ${id} and inbox_id = ${inboxId}`);
  return found.length === 1;
}
