import { within } from "../primitives/within.ts";

/** A position in a queue of requests that are written in order. */
export interface Start {
  /** Resolves when all requests before it are written or their time limit is over; undefined if there are none. */
  inOrder(): Promise<void> | undefined;
  /** Must be called after the request is written, or if it never will be. */
  leave(): void;
}

interface Entry {
  before: Entry | undefined;
  left: Promise<void>;
  hasLeft: boolean;
}

/**
 * Named queues that keep the deliveries of an inbox in order, although signing, look-up and connecting take different
 * times. Requests connect in parallel and wait for each other just before they write. A request that cannot connect
 * delays the next one by at most `patienceMs`.
 */
export function startQueues(patienceMs = 1000): { enter(name: string): Start } {
  const last = new Map<string, Entry>();

  function enter(name: string): Start {
    const { promise, resolve } = Promise.withResolvers<void>();
    const entry: Entry = { before: last.get(name), left: promise, hasLeft: false };
    last.set(name, entry);
    const leave = () => {
      if (entry.hasLeft) return;
      entry.hasLeft = true;
      entry.before = undefined;
      if (last.get(name) === entry) last.delete(name);
      resolve();
    };
    return {
      inOrder: () =>
        entry.before === undefined || entry.before.hasLeft ? undefined : orIn(patienceMs, entry.before.left),
      leave() {
        // A request that ends early must not let later ones pass earlier ones.
        if (entry.before === undefined || entry.before.hasLeft) leave();
        else void orIn(patienceMs, entry.before.left).then(leave);
      },
    };
  }
  return { enter };
}

/** Settles with the promise or after this time. */
function orIn(ms: number, promise: Promise<void>): Promise<void> {
  return within(ms, promise, () => undefined);
}
