/**
 * A pool of slots that accounts share, so that a few accounts can't hold all of them. It only counts the slots in use. A stay is the use of
 * one slot by an account.
 *
 * | free slots | slots that one account may hold |
 * |---|---|
 * | more than `kept` | `ofAccount` |
 * | more than half of `kept` | a tenth of `kept` |
 * | at least one | 1 |
 *
 * A few accounts can fill at most the common slots; the kept slots go to accounts that have few. The steps are wide, so that the limit
 * of an account does not change with every slot.
 */
export interface SharedPool<Stay> {
  /** The number of slots that this account, or all accounts together, may still take at this step. `reserved` slots count as taken. */
  left(reserved: number, accountId?: string): number;
  enter(stay: Stay): void;
  leave(stay: Stay): void;
  /** All stays in the order in which they began, the oldest first. */
  stays(): Iterable<Stay>;
  /**
   * The accounts that hold at least a tenth of `kept` slots, or at least one slot if the current step allows no more, with the number of
   * slots that each may still take. All other accounts may be treated as if they held no slot.
   */
  busyAccounts(reserved: number): { accountId: string; inHand: number; slots: number }[];
  /** Whether no common slot is left. */
  isScarce(): boolean;
  size(): number;
}

/** The size of a pool. */
export interface PoolSize {
  /** The number of slots for all accounts. */
  common: number;
  /** The most common slots that one account gets. */
  ofAccount?: number;
  /** Further slots, for accounts that have few. */
  kept?: number;
}

export function sharedPool<Stay extends { accountId: string }>({
  common,
  ofAccount = common,
  kept = 0,
}: PoolSize): SharedPool<Stay> {
  const stays = new Set<Stay>();
  const inHandOf = new Map<string, number>();
  const few = Math.ceil(kept / 10);

  /** `most`: the number of slots that one account may hold now. `slots`: the number of free slots until the next step. */
  function step(reserved: number): { most: number; slots: number } {
    const free = common + kept - stays.size - reserved;
    const last = Math.floor(kept / 2);
    if (free > kept) return { most: ofAccount, slots: free - kept };
    if (free > last) return { most: few, slots: free - last };
    return { most: free > 0 ? 1 : 0, slots: Math.max(0, free) };
  }

  function count(accountId: string, change: number): void {
    const inHand = (inHandOf.get(accountId) ?? 0) + change;
    if (inHand > 0) inHandOf.set(accountId, inHand);
    else inHandOf.delete(accountId);
  }

  return {
    left(reserved, accountId) {
      const { most, slots } = step(reserved);
      if (accountId === undefined) return slots;
      return Math.max(0, Math.min(slots, most - (inHandOf.get(accountId) ?? 0)));
    },
    enter(stay) {
      stays.add(stay);
      count(stay.accountId, 1);
    },
    leave(stay) {
      if (stays.delete(stay)) count(stay.accountId, -1);
    },
    stays: () => stays,
    busyAccounts(reserved) {
      const { most, slots } = step(reserved);
      const busyFrom = Math.max(1, Math.min(few, most));
      return [...inHandOf]
        .filter(([, inHand]) => inHand >= busyFrom)
        .map(([accountId, inHand]) => ({ accountId, inHand, slots: Math.max(0, Math.min(slots, most - inHand)) }));
    },
    isScarce: () => common - stays.size <= 0,
    size: () => stays.size,
  };
}
