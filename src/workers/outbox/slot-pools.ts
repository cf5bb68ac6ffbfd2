/**
 * Slots in two pools, so that who is quick never waits for who isn't. Bookkeeping only: no clock, no socket.
 *
 * - Everyone starts in the *brisk* pool and, if he stays longer than `slowAfterMs`, moves on to the *waiting* pool. Who was
 *   slow the last time, or is doubtful, starts in the waiting pool. So the brisk pool empties within `slowAfterMs` even
 *   while a thousand hang, for as long as the waiting pool has slots.
 * - The last quarter of the waiting pool is for those that do answer, if slowly.
 * - An account has no more than `ofAccount` slots in the brisk pool.
 */
export interface SlotPools<Stay> {
  /** To be called before anything is asked. */
  moveTheSlow(nowMs: number): void;
  /** How many slots are left for who starts at this pace. */
  left(pace: Pace): number;
  /** False: there is no slot now. */
  enter(pace: Pace, stay: Stay): boolean;
  leave(stay: Stay): void;
  /** The accounts that have their share of the brisk pool. */
  fullAccounts(): string[];
  /** How many may enter the brisk pool without one of the other accounts getting more than its share, whosever they are. */
  leastShareLeft(): number;
  /** In how many milliseconds a slot in the brisk pool comes free by itself; 0 when there is one, `undefined` when that can't be told. */
  briskInMs(nowMs: number): number | undefined;
  size(): number;
}

export type Pace = "brisk" | "slow" | "doubtful";

export interface SlotPoolsOptions<Stay> {
  /** Slots in the brisk pool. */
  brisk: number;
  /** Slots in the waiting pool: mere sockets, which cost little. */
  waiting: number;
  slowAfterMs: number;
  ofAccount?: number;
  /** Told of each that has stayed longer than the quick do. */
  turnedSlow: (stay: Stay) => void;
}

export function slotPools<Stay extends { accountId: string; enteredMs: number }>(
  options: SlotPoolsOptions<Stay>,
): SlotPools<Stay> {
  const { brisk, waiting, slowAfterMs, ofAccount = brisk, turnedSlow } = options;
  /** In order of entry: the first is the oldest. */
  const briskPool = new Set<Stay>();
  const waitingPool = new Set<Stay>();
  const briskOf = new Map<string, number>();

  function left(pace: Pace): number {
    if (pace === "doubtful") return Math.floor(waiting * 0.75) - waitingPool.size;
    return pace === "slow" ? waiting - waitingPool.size : brisk - briskPool.size;
  }

  function leaveBrisk(stay: Stay): void {
    if (!briskPool.delete(stay)) return;
    const others = (briskOf.get(stay.accountId) ?? 0) - 1;
    if (others > 0) briskOf.set(stay.accountId, others);
    else briskOf.delete(stay.accountId);
  }

  return {
    moveTheSlow(nowMs) {
      for (const stay of briskPool) {
        if (nowMs - stay.enteredMs < slowAfterMs) return;
        turnedSlow(stay);
        if (waitingPool.size >= waiting) return;
        leaveBrisk(stay);
        waitingPool.add(stay);
      }
    },
    left,
    enter(pace, stay) {
      if (left(pace) <= 0) return false;
      if (pace !== "brisk") {
        waitingPool.add(stay);
        return true;
      }
      const own = briskOf.get(stay.accountId) ?? 0;
      if (own >= ofAccount) return false;
      briskOf.set(stay.accountId, own + 1);
      briskPool.add(stay);
      return true;
    },
    leave(stay) {
      leaveBrisk(stay);
      waitingPool.delete(stay);
    },
    fullAccounts: () => [...briskOf].flatMap(([accountId, own]) => (own >= ofAccount ? [accountId] : [])),
    leastShareLeft() {
      const shares = [...briskOf.values()].map((own) => ofAccount - own);
      return Math.min(ofAccount, ...shares.filter((share) => share > 0));
    },
    briskInMs(nowMs) {
      if (briskPool.size < brisk) return 0;
      if (waitingPool.size >= waiting) return undefined;
      const [oldest] = briskPool;
      return oldest ? Math.max(0, oldest.enteredMs + slowAfterMs - nowMs) : undefined;
    },
    size: () => briskPool.size + waitingPool.size,
  };
}
