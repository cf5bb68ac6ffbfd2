import { ask } from "../api.ts";
import { may } from "../session.ts";

/** What waits to go out, as the service lists it. */
export interface OutboxItem {
  id: string;
  kind: string;
  state: "ready" | "running" | "waiting";
  messageId: string | null;
  eventId: string | null;
  inboxId: string | null;
  to: string | readonly string[] | null;
  attempt: number;
  createdAt: string;
  dueAt: string | null;
  lastError: string | null;
}

export interface OutboxPage {
  data: OutboxItem[];
  nextCursor: string | null;
}

export interface OutboxQuery {
  state?: string | undefined;
  kind?: string | undefined;
}

export function findOutbox(query: OutboxQuery & { limit: string; cursor?: string | undefined }): Promise<OutboxPage> {
  return ask<OutboxPage>("GET", "/v1/outbox", { query: { ...query } });
}

export function mayChange({ messageId }: OutboxItem): boolean {
  return may(messageId === null ? "manage" : "send");
}
