/** A queue of callers that wait for a thing of the same kind, for example a connection. The first caller is served first. */
export interface WaitingLine<Thing, Wish = unknown> {
  readonly length: number;
  /** The wish with which the first caller joined. */
  readonly firstWish: Wish | undefined;
  /** Resolves with the thing; rejects after a time-out, an abort or `rejectAll`. */
  join(how: { wish?: Wish; signal?: AbortSignal | undefined }): Promise<Thing>;
  /** Resolves the promise of the first caller with the thing. */
  serveFirst(thing: Thing): void;
  rejectAll(error: unknown): void;
}

export interface Patience {
  waitMs: number;
  /** Makes the error for a caller that has waited too long. */
  late: () => Error;
  /** Makes the error for a caller whose signal aborts. */
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
