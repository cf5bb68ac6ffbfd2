import type { KnownAccount, Pace } from "../../store/outbox/claims.ts";
import type { AccountShares } from "./slot-pools.ts";

/** How many rows of which lanes may start now. This is the bookkeeping of one kind of work, without a clock, a socket or a database. */
export interface Lanes<Item> {
  /** How many rows may start now, in total. */
  free(): number;
  /** Whether an unknown lane may start a row. */
  strangers(): boolean;
  /** How many rows of a lane may start now; undefined for an unknown lane. */
  slots(lane: string): number | undefined;
  /** How soon attempts in a lane are expected to end. The default is `brisk`. */
  pace?(lane: string): Pace;
  /** The slots that each account may take. Without it accounts have no shares. */
  shares?(): AccountShares;
  /** Whether so few slots are free, for all or for this account, that claims may skip rows. */
  isHeldBack?(accountId: string): boolean;
  /** Takes a slot, if one is free. */
  enter(item: Item): Leave | undefined;
  /** The milliseconds until a slot becomes free even if no attempt ends, because slow work moves to the waiting pool. */
  slotInMs(): number | undefined;
  /** Sets a function to call for every slot that becomes free. Needed if two kinds of work share the slots. */
  onFreed?(freed: (slot: FreedSlot) => void): void;
}

/** Lanes in which accounts have shares of the slots. */
export type LanesWithShares<Item> = Lanes<Item> & Required<Pick<Lanes<Item>, "shares">>;

export interface FreedSlot {
  lane: string;
  /** Whether claims may have skipped rows until now, because accounts had used up their shares of the slots. */
  wasHeldBack: boolean;
}

/** Gives the slot back. Further calls do nothing. */
export type Leave = (how: Leaving) => void;

/**
 * What an attempt has shown about its server. `answered`: it answered, with any status. `silent`: it accepted the connection and did not
 * answer. `unreached`: it accepted no connection. `unknown`: the attempt showed nothing about the server, because the address was refused,
 * a kept connection had ended, or we stopped.
 */
export type Leaving = "answered" | "silent" | "unreached" | "unknown";

/** The lanes, but the rows of these accounts wait without an attempt: an account without slots is skipped by claims. */
export function lanesWithout<Item extends { accountId: string }>(
  lanes: LanesWithShares<Item>,
  closed: () => ReadonlySet<string>,
): Lanes<Item> {
  return {
    ...lanes,
    shares() {
      const shares = lanes.shares();
      const ids = closed();
      if (ids.size === 0) return shares;
      const others = shares.accounts.filter(({ accountId }) => !ids.has(accountId));
      return { ...shares, accounts: [...others, ...[...ids].flatMap(withoutSlots)] };
    },
    enter: (item) => (closed().has(item.accountId) ? undefined : lanes.enter(item)),
  };
}

const paces: readonly Pace[] = ["brisk", "slow", "doubtful"];

/** An account that may start no row at any pace. */
function withoutSlots(accountId: string): KnownAccount[] {
  return paces.map((pace) => ({ accountId, pace, inHand: 0, slots: 0 }));
}
