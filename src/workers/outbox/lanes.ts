import type { Pace } from "../../store/outbox/claims.ts";
import type { Leaving } from "./destinations.ts";
import type { AccountShares } from "./slot-pools.ts";

/** Which lanes may have how much started now. Bookkeeping of one kind of work: no clock, no socket, no database. */
export interface Lanes<Item> {
  /** How many rows may start now, in all. */
  free(): number;
  /** Whether a lane that nothing is known of may start one. */
  strangers(): boolean;
  /** How many rows of a lane may start now; undefined for a lane that nothing is known of. */
  slots(lane: string): number | undefined;
  /** How soon rows of a lane are expected to end; `brisk` where left out. */
  pace?(lane: string): Pace;
  /** The slots that each account may take. Without it accounts have no shares. */
  shares?(): AccountShares;
  /** Whether claims may pass by rows of this account, or of others, until it gives a slot back. */
  isHeldBack?(accountId: string): boolean;
  /** Takes a slot, if there is one. */
  enter(item: Item): Leave | undefined;
  /** In how many milliseconds to look again, where a slot comes free by itself. */
  slotInMs(): number | undefined;
  /** Where two kinds of work share the slots: each is told of every slot that comes free, whichever had it. */
  onFreed?(told: (slot: FreedSlot) => void): void;
}

export interface FreedSlot {
  lane: string;
  /** Claims may have passed by rows until then, because accounts had their share of the slots. */
  wasHeldBack: boolean;
}

/** Gives the slot back, once. */
export type Leave = (how: Leaving) => void;
