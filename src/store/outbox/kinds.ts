import type { OutboxKind } from "./items.ts";

/** How a kind of work waits in the outbox. The workers know how it is carried out. */
export interface Kind {
  name: OutboxKind;
  /** The prefix of its ids, which are made in the order of time. */
  idPrefix: string;
  inboxOrder: InboxOrder;
  /** Whether each of its lanes has rows of one account alone. */
  hasOwnLanes: boolean;
  /** Whether its attempts are in the log of deliveries, also those without a known result. */
  isLogged: boolean;
}

/**
 * When the next row of an inbox may start in a lane: after the previous one is `settled`; after it has `begun`, so that rows start in the
 * order of arrival; or in `any` order, side by side.
 */
export type InboxOrder = "settled" | "begun" | "any";

export const kinds = {
  /** Mail of one inbox in one lane goes out one by one, because mails over several connections may overtake each other. */
  relay: { name: "relay", idPrefix: "msg_", inboxOrder: "settled", hasOwnLanes: false, isLogged: false },
  webhook: { name: "webhook", idPrefix: "evt_", inboxOrder: "begun", hasOwnLanes: true, isLogged: true },
  parse: { name: "parse", idPrefix: "src_", inboxOrder: "any", hasOwnLanes: false, isLogged: false },
} as const satisfies { [Name in OutboxKind]: Kind & { name: Name } };
