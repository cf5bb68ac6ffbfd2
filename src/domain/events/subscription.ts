import type { Reach } from "../access/access.ts";
import { type EventType, everyEvent } from "./event-types.ts";

/** The words of `include`, in the order of the fields that they add. */
export const includeWords = ["html", "extracted", "automated", "recipients", "authentication", "spam"] as const;

export type IncludeWord = (typeof includeWords)[number];

/** The conditions for the events that an endpoint, a page of the log or a stream gets. */
export interface Subscription {
  /** Types, or `*` for all. */
  types: readonly string[];
  /** Undefined: events of all inboxes, and events about no inbox. */
  inboxIds: readonly string[] | undefined;
  /** Limits events to inboxes with one of these `externalId`s, also to inboxes that are created later. Undefined for all. */
  externalIds: readonly string[] | undefined;
  /** Limits `message.received` to automated mail (true) or to other mail (false). Undefined for both. */
  automated: boolean | undefined;
}

type Sources = Pick<Subscription, "inboxIds" | "externalIds">;

/** Limits the sources of a subscription to a reach. The caller has made sure that the inboxes are within it. */
export function sourcesInReach({ inboxId, externalId }: Reach, { inboxIds, externalIds }: Sources): Sources {
  return {
    inboxIds: inboxId === undefined ? inboxIds : [inboxId],
    externalIds:
      externalId === undefined ? externalIds : [externalId].filter((id) => externalIds?.includes(id) ?? true),
  };
}

/** The facts of an event that a subscription checks. */
export interface EventProperties {
  type: EventType;
  inboxId: string | null;
  /** The `externalId` of its inbox. */
  externalId: string | null;
  /** Whether the event's message is automated mail. */
  isAutomated: boolean;
}

export function wants({ types, inboxIds, externalIds, automated }: Subscription, event: EventProperties): boolean {
  if (!types.includes(everyEvent) && !types.includes(event.type)) return false;
  if (inboxIds !== undefined && (event.inboxId === null || !inboxIds.includes(event.inboxId))) return false;
  if (externalIds !== undefined && (event.externalId === null || !externalIds.includes(event.externalId))) return false;
  return automated === undefined || event.type !== "message.received" || event.isAutomated === automated;
}

/** The given words in the order of `includeWords`, without duplicates. */
export function inOrder(words: readonly string[]): IncludeWord[] {
  return includeWords.filter((word) => words.includes(word));
}
