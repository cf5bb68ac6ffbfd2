import type { OutboxKind } from "./items.ts";

/** A kind of work, with the rules by which its rows wait in the outbox. */
export interface Kind {
  name: OutboxKind;
  /** The prefix of its subject ids. Ids sort by creation time, so the newest rows of a kind are the last ones with its prefix. */
  idPrefix: string;
  inboxOrder: InboxOrder;
  /** Whether each lane of this kind has rows of only one account. */
  hasOwnLanes: boolean;
  /** Whether attempts of this kind are written to the log of deliveries, even if their results are not known. */
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
