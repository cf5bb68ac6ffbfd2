import type { Leaving } from "./destinations.ts";

/** Which lanes may have how much started now. Bookkeeping of one kind of work: no clock, no socket, no database. */
export interface Lanes<Item> {
  /** How many rows may start now, in all. */
  free(): number;
  /** Whether a lane that nothing is known of may start one. */
  strangers(): boolean;
  /** How many rows of a lane may start now; undefined for a lane that nothing is known of. */
  slots(lane: string): number | undefined;
  /** The accounts that have their share of the slots: nothing of theirs may start. None where left out. */
  fullAccounts?(): readonly string[];
  /** Takes a slot, if there is one. */
  enter(item: Item): Leave | undefined;
  /** In how many milliseconds to look again, where a slot comes free by itself. */
  slotInMs(): number | undefined;
  /** Where two kinds of work share the slots: each is told of every slot that comes free, whichever had it. */
  onFreed?(told: (slot: FreedSlot) => void): void;
}

export interface FreedSlot {
  lane: string;
  /** Its account had its share of the slots until then. */
  wasFull: boolean;
}

/** Gives the slot back, once. */
export type Leave = (how: Leaving) => void;
