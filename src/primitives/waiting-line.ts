/** Those who wait for the same kind of thing, in the order in which they came. */
export interface WaitingLine<Thing, Wish = unknown> {
  readonly length: number;
  /** What the first one said of what it wants. */
  readonly firstWish: Wish | undefined;
  /** Resolves with what one is given; rejects when one is sent away, or gives up. */
  join(how: { wish?: Wish; signal?: AbortSignal | undefined }): Promise<Thing>;
  /** Gives it to the first one. */
  serveFirst(thing: Thing): void;
  sendAllAway(error: unknown): void;
}

export interface Patience {
  waitMs: number;
  /** What is thrown at who has waited that long. */
  late: () => Error;
  /** What is thrown at who is called off by its signal. */
  calledOff?: () => Error;
}

interface Waiter<Thing, Wish> {
  wish: Wish | undefined;
  resolve(thing: Thing): void;
  reject(error: unknown): void;
  /** Waits for neither its time nor its signal any more. */
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
    sendAllAway(error) {
      for (const { disarm, reject } of waiting.splice(0)) {
        disarm();
        reject(error);
      }
    },
  };
}
