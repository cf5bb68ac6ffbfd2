import { within } from "../primitives/within.ts";

/** The position of a request in a queue of requests that are written in order. */
export interface Start {
  /** Resolves when all requests before this one have left the queue, or after `patienceMs`; undefined if there are none. */
  inOrder(): Promise<void> | undefined;
  /** Must be called when the request is written, or when it is known that it will not be written. */
  leave(): void;
}

interface Entry {
  before: Entry | undefined;
  left: Promise<void>;
  hasLeft: boolean;
}

/**
 * Makes queues, each with a name, that keep the deliveries of an inbox in order, although signing, look-up and connecting
 * take different times. Requests connect in parallel, and wait for each other just before they are written. A request that
 * cannot connect delays the next one by at most `patienceMs`.
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
        // If earlier requests still wait, this one keeps its position until they have left, so that later ones cannot pass them.
        if (entry.before === undefined || entry.before.hasLeft) leave();
        else void orIn(patienceMs, entry.before.left).then(leave);
      },
    };
  }
  return { enter };
}

/** Settles when the promise settles, but after `ms` at the latest. */
function orIn(ms: number, promise: Promise<void>): Promise<void> {
  return within(ms, promise, () => undefined);
}
