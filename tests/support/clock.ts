/** A clock that stands still until the test moves it. */
export function settable(start = "2026-03-21T10:05:00.000Z") {
  let at = new Date(start).getTime();
  return {
    now: () => new Date(at),
    set(instant: string) {
      at = new Date(instant).getTime();
    },
    pass(ms: number) {
      at += ms;
    },
  };
}

export type Clock = ReturnType<typeof settable>;

/** The clock of a machine that is set wrongly, and its monotonic counter. */
export function machineClock(aheadMs: number) {
  return {
    now: () => new Date(Date.now() + aheadMs),
    elapsedMs: () => performance.now() + 10 * Math.abs(aheadMs),
  };
}
