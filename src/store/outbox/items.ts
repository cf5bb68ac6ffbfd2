import { type events, outbox } from "../schema.ts";

export type OutboxItem = typeof outbox.$inferSelect;
export type OutboxKind = OutboxItem["kind"];
export const outboxKinds: readonly OutboxKind[] = outbox.kind.enumValues;

export type NewOutboxItem = Omit<OutboxItem, "attempt" | "state" | "forgivenAttempts" | "claimedBy" | "claimedAt">;
export type EventRow = Omit<typeof events.$inferSelect, "writtenBy">;

export function isOutboxKind(kind: string | undefined): kind is OutboxKind {
  return outboxKinds.some((known) => known === kind);
}
