/** A queue of callers that wait for the same kind of thing, first come first served. */
export interface WaitingLine<Thing, Wish = unknown> {
  readonly length: number;
  /** The wish of the first caller. */
  readonly firstWish: Wish | undefined;
  /** Resolves with the thing; rejects after a time-out, an abort or `rejectAll`. */
  join(how: { wish?: Wish; signal?: AbortSignal | undefined }): Promise<Thing>;
  /** Gives the thing to the first caller. */
  serveFirst(thing: Thing): void;
  rejectAll(error: unknown): void;
}

export interface Patience {
  waitMs: number;
  /** The error after a time-out. */
  late: () => Error;
  /** The error when the signal aborts. */
  calledOff?: () => Error;
}

interface Waiter<Thing, Wish> {
  wish: Wish | undefined;
  resolve(thing: Thing): void;
  reject(error: unknown): void;
  /** Stops the timer and ignores the signal. */
  disarm(): void;
}

export function waitingLine<Thing, Wish = unknown>({
  waitMs,
  late,
  calledOff = late,
}: Patience): WaitingLine<Thing, Wish> {
  const waiting: Waiter<Thing, Wish>[] = [];

  function join({ wish, signal }: { wish?: Wish; signal?: AbortSignal | undefined }): Promise<Thing> {
    if (signal?.aborted) return Promise.reject(calledOff());
    const { promise, resolve, reject } = Promise.withResolvers<Thing>();
    const giveUp = (error: Error) => {
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.disarm();
      reject(error);
    };
    const onAbort = () => giveUp(calledOff());
    const timer = setTimeout(() => giveUp(late()), waitMs);
    const waiter: Waiter<Thing, Wish> = {
      wish,
      resolve,
      reject,
      disarm() {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
      },
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    waiting.push(waiter);
    return promise;
  }

  return {
    get length() {
      return waiting.length;
    },
    get firstWish() {
      return waiting[0]?.wish;
    },
    join,
    serveFirst(thing) {
      const first = waiting.shift();
      first?.disarm();
      first?.resolve(thing);
    },
    rejectAll(error) {
      for (const { disarm, reject } of waiting.splice(0)) {
        disarm();
        reject(error);
      }
    },
  };
}
