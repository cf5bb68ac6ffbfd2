import type { Pace } from "../../store/outbox/claims.ts";
import type { AccountShares } from "./slot-pools.ts";

/** How many rows of which lanes may start now. This is the bookkeeping of one kind of work, without a clock, a socket or a database. */
export interface Lanes<Item> {
  /** How many rows may start now, in total. */
  free(): number;
  /** Whether an unknown lane may start a row. */
  strangers(): boolean;
  /** How many rows of a lane may start now; undefined for an unknown lane. */
  slots(lane: string): number | undefined;
  /** How soon rows of a lane are expected to end. The default is `brisk`. */
  pace?(lane: string): Pace;
  /** The slots that each account may take. Without it accounts have no shares. */
  shares?(): AccountShares;
  /** Whether claims may skip rows of this account, or of others, until it gives a slot back. */
  isHeldBack?(accountId: string): boolean;
  /** Takes a slot, if one is free. */
  enter(item: Item): Leave | undefined;
  /** In how many milliseconds to look again, if a slot becomes free by itself then. */
  slotInMs(): number | undefined;
  /** Notifies of every slot that becomes free. Needed where two kinds of work share the slots. */
  onFreed?(freed: (slot: FreedSlot) => void): void;
}

export interface FreedSlot {
  lane: string;
  /** Whether claims may have skipped rows until now, because accounts had used up their shares of the slots. */
  wasHeldBack: boolean;
}

/** Gives the slot back. Further calls do nothing. */
export type Leave = (how: Leaving) => void;

/**
 * The result of an attempt for its server: it answered (with any status), it accepted the connection and was silent, it accepted
 * no connection, or nothing (the address was refused, a kept connection had ended, or we stopped).
 */
export type Leaving = "answered" | "silent" | "unreached" | "unknown";
