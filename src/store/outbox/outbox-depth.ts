import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { OutboxItem } from "./items.ts";

export type OutboxDepth = Pick<OutboxItem, "kind" | "state"> & { count: number; oldestAt: Date };

/** What is still to be done. Only those kinds and states of which there is something. */
export function listOutboxDepths(db: Db): Promise<OutboxDepth[]> {
  return query<OutboxDepth>(
    db,
    sql`select kind, state, count(*) as count, min(created_at) as "oldestAt" from outbox group by kind, state`,
  );
}
