/**
 * Slots in two pools, so that who is quick never waits for who isn't. Bookkeeping only: no clock, no socket.
 *
 * - Everyone starts in the *brisk* pool and, if he stays longer than `slowAfterMs`, moves on to the *waiting* pool. Who was
 *   slow the last time, or is doubtful, starts in the waiting pool. So the brisk pool empties within `slowAfterMs` even
 *   while a thousand hang, for as long as the waiting pool has slots.
 * - The last quarter of the waiting pool is for those that do answer, if slowly.
 * - An account has no more than `ofAccount` slots in the brisk pool, and `ofAccountWaiting` in the other.
 */
export interface SlotPools<Stay> {
  /** To be called before anything is asked. */
  moveTheSlow(nowMs: number): void;
  /** How many slots are left for who starts at this pace, of this account or in all. */
  left(pace: Pace, accountId?: string): number;
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
  ofAccountWaiting?: number;
  /** Told of each that has stayed longer than the quick do. */
  turnedSlow: (stay: Stay) => void;
}

export function slotPools<Stay extends { accountId: string; enteredMs: number }>(
  options: SlotPoolsOptions<Stay>,
): SlotPools<Stay> {
  const { brisk, waiting, slowAfterMs, ofAccount = brisk, ofAccountWaiting = waiting, turnedSlow } = options;
  /** In order of entry: the first is the oldest. */
  const briskPool = new Set<Stay>();
  const waitingPool = new Set<Stay>();
  const briskOf = new Map<string, number>();
  /** Kept, since it is asked at every slot that comes free. */
  const full = new Set<string>();
  const waitingOf = new Map<string, number>();

  function left(pace: Pace, accountId?: string): number {
    const all = pace === "brisk" ? brisk : pace === "doubtful" ? Math.floor(waiting * 0.75) : waiting;
    const inAll = all - (pace === "brisk" ? briskPool : waitingPool).size;
    if (accountId === undefined) return inAll;
    const own = pace === "brisk" ? ofAccount - held(briskOf, accountId) : ofAccountWaiting - held(waitingOf, accountId);
    return Math.min(inAll, own);
  }

  function enterBrisk(stay: Stay): void {
    briskPool.add(stay);
    count(briskOf, stay.accountId, 1);
    if (held(briskOf, stay.accountId) >= ofAccount) full.add(stay.accountId);
  }

  function leaveBrisk(stay: Stay): void {
    if (!briskPool.delete(stay)) return;
    count(briskOf, stay.accountId, -1);
    full.delete(stay.accountId);
  }

  function enterWaiting(stay: Stay): void {
    waitingPool.add(stay);
    count(waitingOf, stay.accountId, 1);
  }

  return {
    moveTheSlow(nowMs) {
      for (const stay of briskPool) {
        if (nowMs - stay.enteredMs < slowAfterMs) return;
        turnedSlow(stay);
        if (waitingPool.size >= waiting) return;
        if (left("slow", stay.accountId) <= 0) continue;
        leaveBrisk(stay);
        enterWaiting(stay);
      }
    },
    left,
    enter(pace, stay) {
      if (left(pace, stay.accountId) <= 0) return false;
      if (pace === "brisk") enterBrisk(stay);
      else enterWaiting(stay);
      return true;
    },
    leave(stay) {
      leaveBrisk(stay);
      if (waitingPool.delete(stay)) count(waitingOf, stay.accountId, -1);
    },
    fullAccounts: () => [...full],
    leastShareLeft() {
      const shares = [...briskOf.values()].map((own) => ofAccount - own);
      return Math.min(ofAccount, ...shares.filter((share) => share > 0));
    },
    briskInMs(nowMs) {
      if (briskPool.size < brisk) return 0;
      for (const { accountId, enteredMs } of briskPool)
        if (left("slow", accountId) > 0) return Math.max(0, enteredMs + slowAfterMs - nowMs);
      return undefined;
    },
    size: () => briskPool.size + waitingPool.size,
  };
}

function held(own: ReadonlyMap<string, number>, accountId: string): number {
  return own.get(accountId) ?? 0;
}

function count(own: Map<string, number>, accountId: string, change: number): void {
  const counted = held(own, accountId) + change;
  if (counted > 0) own.set(accountId, counted);
  else own.delete(accountId);
}
