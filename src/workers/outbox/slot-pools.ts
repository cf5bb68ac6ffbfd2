import { type PoolSize, type SharedPool, sharedPool } from "../../primitives/shared-pool.ts";
import type { KnownAccount, Pace } from "../../store/outbox/claims.ts";

/**
 * Slots in two pools, so that work that is quick never waits for work that isn't. Bookkeeping only: no clock, no socket.
 *
 * - Everything starts in the *brisk* pool and, if it stays longer than `slowAfterMs`, moves on to the *waiting* pool. What was
 *   slow the last time, or is doubtful, starts in the waiting pool. So the brisk pool empties within `slowAfterMs` even
 *   while a thousand attempts hang, as long as the waiting pool has slots.
 * - The last quarter of the waiting pool is for receivers that do answer, if slowly.
 * - Accounts share each pool, and the last slots of each are kept for accounts that have few (shared-pool.ts).
 */
export interface SlotPools<Stay> {
  /** To be called before anything is asked. */
  moveTheSlow(nowMs: number): void;
  /** How many slots are left at this pace, of this account or in all. */
  left(pace: Pace, accountId?: string): number;
  /** False: there is no slot now. */
  enter(pace: Pace, stay: Stay): boolean;
  leave(stay: Stay): void;
  shares(): AccountShares;
  /** Whether claims may pass by brisk rows of this account, or of others, until it gives a slot back. */
  isHeldBack(accountId: string): boolean;
  /** In how many milliseconds a slot in the brisk pool comes free by itself; 0 when there is one, `undefined` when that can't be told. */
  briskInMs(nowMs: number): number | undefined;
  size(): number;
}

/** The slots that each busy account may still take, and those that every other account may. */
export interface AccountShares {
  accounts: readonly KnownAccount[];
  othersSlots: Readonly<Record<Pace, number>>;
}

export interface SlotPoolsOptions<Stay> {
  brisk: PoolSize;
  /** Mere sockets, which cost little. */
  waiting: PoolSize;
  slowAfterMs: number;
  /** Called for each stay that lasts longer than quick ones do. */
  turnedSlow: (stay: Stay) => void;
}

export function slotPools<Stay extends { accountId: string; enteredMs: number }>(
  options: SlotPoolsOptions<Stay>,
): SlotPools<Stay> {
  const { slowAfterMs, turnedSlow } = options;
  const brisk = sharedPool<Stay>(options.brisk);
  const waiting = sharedPool<Stay>(options.waiting);
  const reservedOf: Record<Pace, number> = { brisk: 0, slow: 0, doubtful: Math.ceil(options.waiting.common / 4) };
  const poolOf = (pace: Pace): SharedPool<Stay> => (pace === "brisk" ? brisk : waiting);
  const left = (pace: Pace, accountId?: string) => poolOf(pace).left(reservedOf[pace], accountId);

  return {
    moveTheSlow(nowMs) {
      for (const stay of brisk.stays()) {
        if (nowMs - stay.enteredMs < slowAfterMs) return;
        turnedSlow(stay);
        if (left("slow", stay.accountId) <= 0) continue;
        brisk.leave(stay);
        waiting.enter(stay);
      }
    },
    left,
    enter(pace, stay) {
      if (left(pace, stay.accountId) <= 0) return false;
      poolOf(pace).enter(stay);
      return true;
    },
    leave(stay) {
      brisk.leave(stay);
      waiting.leave(stay);
    },
    shares: () => ({
      accounts: paces.flatMap((pace) =>
        poolOf(pace)
          .busyAccounts(reservedOf[pace])
          .map((account) => ({ ...account, pace })),
      ),
      othersSlots: {
        brisk: left("brisk", nobody),
        slow: left("slow", nobody),
        doubtful: left("doubtful", nobody),
      },
    }),
    isHeldBack: (accountId) => brisk.isScarce() || left("brisk", accountId) <= 0,
    briskInMs(nowMs) {
      if (!brisk.isScarce()) return 0;
      for (const { accountId, enteredMs } of brisk.stays())
        if (left("slow", accountId) > 0) return Math.max(0, enteredMs + slowAfterMs - nowMs);
      return undefined;
    },
    size: () => brisk.size() + waiting.size(),
  };
}

const paces: readonly Pace[] = ["brisk", "slow", "doubtful"];
/** An account without slots. */
const nobody = "";
