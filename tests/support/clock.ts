/** A clock that stands still until it is told to go on. */
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
