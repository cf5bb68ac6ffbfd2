import { sql } from "drizzle-orm";
import type { Db } from "./db.ts";
import { insertRows } from "./rows.ts";
import { events, outbox } from "./schema.ts";

export type OutboxItem = typeof outbox.$inferSelect;

export function insertOutboxItems(tx: Db, items: readonly Omit<OutboxItem, "attempt">[]): Promise<void> {
  return insertRows(tx, outbox, items);
}

export function insertEvents(tx: Db, rows: readonly (typeof events.$inferInsert)[]): Promise<void> {
  return insertRows(tx, events, rows, sql``);
}
