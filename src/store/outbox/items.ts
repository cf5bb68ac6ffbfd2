import { outbox } from "../schema.ts";

export type OutboxItem = typeof outbox.$inferSelect;
export type OutboxKind = OutboxItem["kind"];
export const outboxKinds: readonly OutboxKind[] = outbox.kind.enumValues;

export type NewOutboxItem = Omit<OutboxItem, SetLater | "eventId"> & Partial<Pick<OutboxItem, "eventId">>;
type SetLater = "attempt" | "state" | "forgivenAttempts" | "claimedBy" | "claimedAt" | "unsure" | "lastError";

export function isOutboxKind(kind: string | undefined): kind is OutboxKind {
  return outboxKinds.some((known) => known === kind);
}
