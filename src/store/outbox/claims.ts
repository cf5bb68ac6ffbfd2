import { sql } from "drizzle-orm";
import { selected } from "../columns.ts";
import { outbox } from "../schema.ts";
import type { Kind } from "./kinds.ts";

/** What a process asks of the line: it takes no more than it can start at once. */
export interface Claim {
  kind: Kind;
  /** Who asks: a number that no other process has. */
  claimer: number;
  /** Rows in all. */
  limit: number;
  /** Until when the rows are this process's. */
  leasedUntil: Date;
  /** Lanes of which it knows how many rows may start now (0: none). */
  lanes: readonly KnownLane[];
  /** Whether a lane that it doesn't know gets a row. */
  strangers: boolean;
  /** The accounts with many rows under way here. */
  accounts: readonly KnownAccount[];
  /** How many rows each other account may start now. */
  othersSlots: Readonly<Record<Pace, number>>;
  /** Whether the newest rows get their share. */
  newest: boolean;
  /** Also walks along the lanes that it does not know, behind this one; undefined: it doesn't. */
  sweepAfter: string | undefined;
  /** Counts up. Where there is one slot, the newest and the next in turn take turns; so do lanes, where not all get one. */
  claimNumber: number;
}

export interface KnownLane {
  lane: string;
  slots: number;
  pace: Pace;
  /** The account whose turn was last; `""` for none. */
  lastAccountId: string;
  /** The inbox whose turn was last, by account. */
  lastInboxes: Readonly<Record<string, string>>;
}

/** How soon rows of a lane are expected to end: most are `brisk`; `doubtful` ones failed the last time. Slots differ by it. */
export type Pace = "brisk" | "slow" | "doubtful";

/** The rows of an account under way at one pace, and how many more may start. */
export interface KnownAccount {
  accountId: string;
  pace: Pace;
  /** Accounts with fewer come first. */
  inHand: number;
  /** 0: the claim passes by its rows. */
  slots: number;
}

/** A row is in a claim's answer even if nothing was claimed: it tells how far the sweep has come. */
export interface ClaimedRow {
  /** Where the next sweep begins; null when this one has reached the end. */
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
  /** Its number among the rows of its lane that were taken in turn; null for a row taken because it is among the newest. */
  turn: number | null;
  /** Its inbox has more mail for that lane, which waits until this one is settled. */
  hasMore: boolean;
}

export interface Claimed<Item extends ClaimedItem> {
  items: Item[];
  sweptTo: string | undefined;
  /** Another process was claiming from a lane at the same time: ask again soon. */
  contended: boolean;
  /** New rows wait since another process is just starting earlier ones of their inbox. It will most likely take these too. */
  behindAnother: boolean;
}

/** Each row of `claimed`, as a `ClaimedItem`. */
export const claimedFields = sql`${selected(outbox, "claimed", [
  ...(["subjectId", "accountId", "inboxId", "lane", "attempt", "forgivenAttempts", "createdAt"] as const),
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
