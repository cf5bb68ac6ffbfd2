import type { OutboxKind } from "./items.ts";

/** What differs between the kinds of work where they stand in line. How they are carried out is a matter of the workers. */
export interface Kind {
  name: OutboxKind;
  /** What the ids of its rows begin with. They are made in the order of time. */
  idPrefix: string;
  inboxOrder: InboxOrder;
  /** Each of its lanes has rows of one account alone. */
  hasOwnLanes: boolean;
  /** Its attempts stand in the log of deliveries, those too of which nobody will hear any more. */
  isLogged: boolean;
}

/**
 * How the rows of one inbox follow each other in a lane: the next when the one before is `settled`; when it has `begun`, so that
 * they start in the order of arrival; or side by side, in `any` order.
 */
export type InboxOrder = "settled" | "begun" | "any";

export const kinds = {
  /** Mail of one inbox in one lane goes out one by one: relays take mail over several connections in any order. */
  relay: { name: "relay", idPrefix: "msg_", inboxOrder: "settled", hasOwnLanes: false, isLogged: false },
  /** Mail too, that an older process would send wrongly (schema.ts). */
  destination: { name: "destination", idPrefix: "msg_", inboxOrder: "settled", hasOwnLanes: false, isLogged: false },
  webhook: { name: "webhook", idPrefix: "evt_", inboxOrder: "begun", hasOwnLanes: true, isLogged: true },
  /** Deliveries too, of what an older process could not carry out whole (schema.ts). */
  endpoint: { name: "endpoint", idPrefix: "evt_", inboxOrder: "begun", hasOwnLanes: true, isLogged: true },
  parse: { name: "parse", idPrefix: "src_", inboxOrder: "any", hasOwnLanes: false, isLogged: false },
} as const satisfies { [Name in OutboxKind]: Kind & { name: Name } };
