import { type PoolSize, type SharedPool, sharedPool } from "../../primitives/shared-pool.ts";
import type { KnownAccount, Pace } from "../../store/outbox/claims.ts";

/**
 * Slots in two pools, so that quick work never waits for slow work. This is bookkeeping without a clock or a socket.
 *
 * - Work starts in the *brisk* pool. After `slowAfterMs` it moves to the *waiting* pool. Work that was slow the last time, or is
 *   doubtful, starts in the waiting pool. So the brisk pool empties within `slowAfterMs` even while a thousand attempts hang, as long as
 *   the waiting pool has slots.
 * - In the waiting pool, doubtful work leaves a quarter of the common slots free, for receivers that answer slowly.
 * - Accounts share each pool, and its last slots are kept for accounts that have few (shared-pool.ts).
 */
export interface SlotPools<Stay> {
  /** Moves slow work to the waiting pool. Must be called before the other functions. */
  moveTheSlow(nowMs: number): void;
  /** The number of slots that are left at this pace, for an account or in total. */
  left(pace: Pace, accountId?: string): number;
  /** Takes a slot. False if none is free. */
  enter(pace: Pace, stay: Stay): boolean;
  leave(stay: Stay): void;
  shares(): AccountShares;
  /** Whether so few brisk slots are free, for all or for this account, that claims may skip brisk rows. */
  isHeldBack(accountId: string): boolean;
  /** The milliseconds until work leaves the brisk pool because it is slow; 0 if a slot is free, `undefined` if unknown. */
  briskInMs(nowMs: number): number | undefined;
  size(): number;
}

/** The slots that each busy account may still take, and those that any other account may take. */
export interface AccountShares {
  accounts: readonly KnownAccount[];
  othersSlots: Readonly<Record<Pace, number>>;
}

export interface SlotPoolsOptions<Stay> {
  brisk: PoolSize;
  /** May be large, because waiting work is only an open socket, which costs little. */
  waiting: PoolSize;
  slowAfterMs: number;
  /** Called for each stay that becomes slow. */
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
/** The id of no account. It stands for any account that has no slots yet. */
const nobody = "";
