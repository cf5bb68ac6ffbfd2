/** What can happen, in the words of receivers. */
export const eventTypes = [
  "message.received",
  "message.sent",
  "message.failed",
  "inbox.created",
  "inbox.deleted",
  "webhook.disabled",
  "message.delayed",
  "message.delivered",
  "message.bounced",
  "message.complained",
  "suppression.added",
] as const;

export type EventType = (typeof eventTypes)[number];

/** Names that may be asked for already and that never come yet. */
export const reservedEventTypes = ["domain.verified", "domain.failing", "domain.failed"] as const;

/** Whether an event tells of a message: it goes with its inbox. */
export function isOfMessage(type: string): boolean {
  return type.startsWith("message.") || type === "suppression.added";
}

export const everyEvent = "*";

/** What whoever names no types gets: a client of the first hour knows of nothing else. */
export const defaultEventTypes: readonly string[] = ["message.received"];

/** Whether a type may be asked for. */
export function isAskableType(name: string): boolean {
  return name === everyEvent || [...eventTypes, ...reservedEventTypes].some((type) => type === name);
}
