import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

/** What one process changed and all should forget: heard once the transaction commits. */
export type Change = { kind: "key"; hash: string } | { kind: "address"; username: string };

export const changesChannel = "inboxd_changes";

export async function notify(tx: Db, change: Change): Promise<void> {
  await query(tx, sql`select pg_notify(${changesChannel}, ${JSON.stringify(change)})`);
}
