import { type EventType, everyEvent } from "./event-types.ts";

/** Fields that an event has only for who asks for them, in the order in which they stand. */
export const includeWords = ["html", "extracted", "automated", "recipients"] as const;

export type IncludeWord = (typeof includeWords)[number];

/** Which events somebody wants to hear of: the same at an endpoint, in the log and in a stream. */
export interface Subscription {
  /** Names of types, or `*` for all. */
  types: readonly string[];
  /** Undefined: of all inboxes, and what belongs to none. */
  inboxIds: readonly string[] | undefined;
  /** Of mail that came in: only what no person wrote, or only what a person wrote. Undefined: both. */
  automated: boolean | undefined;
}

/** What an event is judged by. */
export interface Tellable {
  type: EventType;
  inboxId: string | null;
  /** Whether it tells of mail that no person wrote. */
  isAutomated: boolean;
}

export function wants({ types, inboxIds, automated }: Subscription, event: Tellable): boolean {
  if (!types.includes(everyEvent) && !types.includes(event.type)) return false;
  if (inboxIds !== undefined && (event.inboxId === null || !inboxIds.includes(event.inboxId))) return false;
  return automated === undefined || event.type !== "message.received" || event.isAutomated === automated;
}

/** The words in their order, each once. */
export function inOrder(words: readonly string[]): IncludeWord[] {
  return includeWords.filter((word) => words.includes(word));
}
