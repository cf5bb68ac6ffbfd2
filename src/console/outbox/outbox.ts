import { ask } from "../api.ts";

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

export function findOutbox(query: Readonly<Record<string, string | undefined>>): Promise<OutboxPage> {
  return ask<OutboxPage>("GET", "/v1/outbox", { query });
}
