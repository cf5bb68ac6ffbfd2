/**
 * Slots in two rooms, so that who is quick never waits for who isn't. Bookkeeping only: no clock, no socket.
 *
 * - Everyone starts in the *brisk* room and, if he stays longer than `slowAfterMs`, moves on to the *waiting* room. Who was
 *   slow the last time, or is doubtful, starts in the waiting room. So the brisk room empties within `slowAfterMs` even
 *   while a thousand hang, for as long as the waiting room has places.
 * - The last quarter of the waiting room is for those that do answer, if slowly.
 * - An account has no more than `ofAccount` places in the brisk room.
 */
export interface TwoRooms<Stay> {
  /** To be called before anything is asked. */
  moveTheSlow(nowMs: number): void;
  /** How many places are left for who starts at this pace. */
  left(pace: Pace): number;
  /** False: there is no place now. */
  enter(pace: Pace, stay: Stay): boolean;
  leave(stay: Stay): void;
  /** The accounts that have their share of the brisk room. */
  fullAccounts(): string[];
  /** How many may enter the brisk room without one of the other accounts getting more than its share, whosever they are. */
  leastShareLeft(): number;
  /** In how many milliseconds a place in the brisk room comes free by itself; 0 when there is one, `undefined` when that can't be told. */
  briskInMs(nowMs: number): number | undefined;
  size(): number;
}

export type Pace = "brisk" | "slow" | "doubtful";

export interface TwoRoomsOptions<Stay> {
  /** Places in the brisk room. */
  brisk: number;
  /** Places in the waiting room: mere sockets, which cost little. */
  waiting: number;
  slowAfterMs: number;
  ofAccount?: number;
  /** Told of each that has stayed longer than the quick do. */
  turnedSlow: (stay: Stay) => void;
}

export function twoRooms<Stay extends { accountId: string; enteredMs: number }>(
  options: TwoRoomsOptions<Stay>,
): TwoRooms<Stay> {
  const { brisk, waiting, slowAfterMs, ofAccount = brisk, turnedSlow } = options;
  /** In order of entry: the first is the oldest. */
  const briskRoom = new Set<Stay>();
  const waitingRoom = new Set<Stay>();
  const briskOf = new Map<string, number>();

  function left(pace: Pace): number {
    if (pace === "doubtful") return Math.floor(waiting * 0.75) - waitingRoom.size;
    return pace === "slow" ? waiting - waitingRoom.size : brisk - briskRoom.size;
  }

  function leaveBrisk(stay: Stay): void {
    if (!briskRoom.delete(stay)) return;
    const others = (briskOf.get(stay.accountId) ?? 0) - 1;
    if (others > 0) briskOf.set(stay.accountId, others);
    else briskOf.delete(stay.accountId);
  }

  return {
    moveTheSlow(nowMs) {
      for (const stay of briskRoom) {
        if (nowMs - stay.enteredMs < slowAfterMs) return;
        turnedSlow(stay);
        if (waitingRoom.size >= waiting) return;
        leaveBrisk(stay);
        waitingRoom.add(stay);
      }
    },
    left,
    enter(pace, stay) {
      if (left(pace) <= 0) return false;
      if (pace !== "brisk") {
        waitingRoom.add(stay);
        return true;
      }
      const own = briskOf.get(stay.accountId) ?? 0;
      if (own >= ofAccount) return false;
      briskOf.set(stay.accountId, own + 1);
      briskRoom.add(stay);
      return true;
    },
    leave(stay) {
      leaveBrisk(stay);
      waitingRoom.delete(stay);
    },
    fullAccounts: () => [...briskOf].flatMap(([accountId, own]) => (own >= ofAccount ? [accountId] : [])),
    leastShareLeft() {
      const shares = [...briskOf.values()].map((own) => ofAccount - own);
      return Math.min(ofAccount, ...shares.filter((share) => share > 0));
    },
    briskInMs(nowMs) {
      if (briskRoom.size < brisk) return 0;
      if (waitingRoom.size >= waiting) return undefined;
      const [oldest] = briskRoom;
      return oldest ? Math.max(0, oldest.enteredMs + slowAfterMs - nowMs) : undefined;
    },
    size: () => briskRoom.size + waitingRoom.size,
  };
}
