import { type EventType, everyEvent } from "./event-types.ts";

/** The words of `include`, in the order of the fields that they add. */
export const includeWords = ["html", "extracted", "automated", "recipients"] as const;

export type IncludeWord = (typeof includeWords)[number];

/** The events that an endpoint, a call of the log or a stream wants. */
export interface Subscription {
  /** Types, or `*` for all. */
  types: readonly string[];
  /** Undefined for all inboxes and for events about no inbox. */
  inboxIds: readonly string[] | undefined;
  /** Limits `message.received` to automated mail, or to other mail. Undefined for both. */
  automated: boolean | undefined;
}

/** The facts of an event that a subscription checks. */
export interface Tellable {
  type: EventType;
  inboxId: string | null;
  /** Whether its message is automated mail. */
  isAutomated: boolean;
}

export function wants({ types, inboxIds, automated }: Subscription, event: Tellable): boolean {
  if (!types.includes(everyEvent) && !types.includes(event.type)) return false;
  if (inboxIds !== undefined && (event.inboxId === null || !inboxIds.includes(event.inboxId))) return false;
  return automated === undefined || event.type !== "message.received" || event.isAutomated === automated;
}

/** The given words in their order, without duplicates. */
export function inOrder(words: readonly string[]): IncludeWord[] {
  return includeWords.filter((word) => words.includes(word));
}
