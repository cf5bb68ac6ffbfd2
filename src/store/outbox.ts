import type { Db } from "./db.ts";
import { insertRows } from "./rows.ts";
import { events, outbox } from "./schema.ts";

export type OutboxItem = typeof outbox.$inferSelect;

export type NewOutboxItem = Omit<OutboxItem, "attempt" | "state" | "forgivenAttempts">;
export type EventRow = Omit<typeof events.$inferSelect, "writtenBy">;

export function insertOutboxItems(tx: Db, items: readonly NewOutboxItem[]): Promise<void> {
  return insertRows(tx, outbox, items);
}

export function insertEvents(tx: Db, rows: readonly EventRow[]): Promise<void> {
  return insertRows(tx, events, rows);
}
