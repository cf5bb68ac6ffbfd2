import { sql } from "drizzle-orm";
import { selected } from "../columns.ts";
import { outbox } from "../schema.ts";
import type { Kind } from "./kinds.ts";

/** The parameters of a claim: which rows of the outbox a process takes, at most as many as it can start at once. */
export interface Claim {
  kind: Kind;
  /** The number of this process, which no other process has. */
  claimer: number;
  /** The most rows that the claim takes from all lanes together. */
  limit: number;
  /** The end of the lease. */
  leasedUntil: Date;
  /** The lanes for which this process knows how many rows may start now (`slots`; 0: none). */
  lanes: readonly KnownLane[];
  /** Whether the claim may take one row of each lane that is not in `lanes`. */
  strangers: boolean;
  /** The accounts for which this process knows how many rows may start now. For all others `othersSlots` holds. */
  accounts: readonly KnownAccount[];
  /** The most rows of each pace that an account may start now if it is not in `accounts`. */
  othersSlots: Readonly<Record<Pace, number>>;
  /** Whether half of the slots of a lane go to the inboxes of the newest rows. */
  newest: boolean;
  /** The lane after which the claim looks for lanes that are not in `lanes`, in the order of the index; undefined: it does not look. */
  sweepAfter: string | undefined;
  /** Counts up by one with each claim, so that a single slot alternates between the newest row and the next in order, and between lanes. */
  claimNumber: number;
}

export interface KnownLane {
  lane: string;
  slots: number;
  pace: Pace;
  /** The id of the account from which a row of this lane was last taken; `""` for none. */
  lastAccountId: string;
  /** The id of the inbox from which a row of this lane was last taken, by account id. */
  lastInboxes: Readonly<Record<string, string>>;
}

/** How soon attempts in a lane are expected to end: most are `brisk`; `doubtful` ones failed the last time. Each pace has its own slots. */
export type Pace = "brisk" | "slow" | "doubtful";

/** The rows of an account at one pace: how many this process works on, and how many more may start. */
export interface KnownAccount {
  accountId: string;
  pace: Pace;
  /** The number of rows that this process works on. Accounts with fewer are served first. */
  inHand: number;
  /** The number of rows that may start now. 0: the claim skips the account. */
  slots: number;
}

/** A row of the claim's result. If nothing was claimed, there is one row without a `subjectId`, for the other columns. */
export interface ClaimedRow {
  /** The lane after which the next sweep begins; null if this one has reached the end. */
  sweptTo: string | null;
  contended: boolean;
  behindAnother: boolean;
  subjectId: string | null;
}

export interface ClaimedItem {
  subjectId: string;
  accountId: string;
  inboxId: string;
  lane: string;
  attempt: number;
  forgivenAttempts: number;
  createdAt: Date;
  /** The rank of its inbox in its lane, by which inboxes alternate; null if it was taken only because it is new. */
  turn: number | null;
  /** Whether its inbox has more mail for that lane, which waits until this row is settled. */
  hasMore: boolean;
}

export interface Claimed<Item extends ClaimedItem> {
  items: Item[];
  sweptTo: string | undefined;
  /** Whether another process was claiming from one of the lanes at the same time. If so, the caller should claim again soon. */
  contended: boolean;
  /** Whether new rows wait because another process is starting earlier rows of their inbox. It will probably take these too. */
  behindAnother: boolean;
}

/** The select list of `claimed` for a `ClaimedItem`. */
export const claimedFields = sql`${selected(outbox, "claimed", [
  "subjectId",
  "accountId",
  "inboxId",
  "lane",
  "attempt",
  "forgivenAttempts",
  "createdAt",
])}, claimed.turn, claimed.has_more as "hasMore"`;

export function claimedOf<Item extends ClaimedItem>(rows: readonly (Item & ClaimedRow)[]): Claimed<Item> {
  const items = rows.filter(({ subjectId }) => subjectId !== null);
  const [first] = rows;
  const { sweptTo, contended = false, behindAnother = false } = first ?? {};
  return { items: items.sort(byArrival), sweptTo: sweptTo ?? undefined, contended, behindAnother };
}

function byArrival(one: ClaimedItem, other: ClaimedItem): number {
  return one.createdAt.getTime() - other.createdAt.getTime() || (one.subjectId < other.subjectId ? -1 : 1);
}
