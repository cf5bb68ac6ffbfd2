import { sql } from "drizzle-orm";
import { selected } from "../columns.ts";
import { outbox } from "../schema.ts";
import type { Kind } from "./kinds.ts";

/** A request for rows of the outbox: no more than the process can start at once. */
export interface Claim {
  kind: Kind;
  /** The number of this process, which no other process has. */
  claimer: number;
  /** The most rows in all. */
  limit: number;
  /** The end of the lease. */
  leasedUntil: Date;
  /** Lanes with a known number of rows that may start now (0: none). */
  lanes: readonly KnownLane[];
  /** Whether a lane that is not in `lanes` may start a row. */
  strangers: boolean;
  /** The accounts with many running rows in this process. */
  accounts: readonly KnownAccount[];
  /** The most rows of each pace that every other account may start now. */
  othersSlots: Readonly<Record<Pace, number>>;
  /** Whether the inboxes of the newest rows get half of the slots. */
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
  /** The account that was served last; `""` for none. */
  lastAccountId: string;
  /** The inbox that was served last, by account. */
  lastInboxes: Readonly<Record<string, string>>;
}

/** How soon attempts in a lane are expected to end: most are `brisk`; `doubtful` ones failed the last time. Each pace has its own slots. */
export type Pace = "brisk" | "slow" | "doubtful";

/** An account's rows under way at one pace, and how many more may start. */
export interface KnownAccount {
  accountId: string;
  pace: Pace;
  /** The rows under way. Accounts with fewer come first. */
  inHand: number;
  /** The rows that may still start. 0: the claim skips the account. */
  slots: number;
}

/** A claim returns a row even if it claimed nothing, with the end of the sweep. */
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
  /** Its number among the rows of its lane that were taken in order; null for a row that was taken because it is new. */
  turn: number | null;
  /** Whether its inbox has more mail for that lane, which waits until this row is settled. */
  hasMore: boolean;
}

export interface Claimed<Item extends ClaimedItem> {
  items: Item[];
  sweptTo: string | undefined;
  /** Whether another process was claiming from a lane at the same time: claim again soon. */
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
