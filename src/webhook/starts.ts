import { within } from "../primitives/within.ts";
/** One request among those that shall be on the wire one after the other. */
export interface Start {
  /** Resolves when all before it are on the wire, or have had time enough to get there; undefined when they are. */
  inOrder(): Promise<void> | undefined;
  /** It is on the wire, or never will be. To be said once that has resolved, or when it is given up. */
  leave(): void;
}

interface Entry {
  before: Entry | undefined;
  left: Promise<void>;
  hasLeft: boolean;
}

/**
 * Queues by name, in the order of entering: signing, looking up and connecting take now longer, now shorter, and deliveries of an
 * inbox start in the order of arrival all the same. They connect side by side, and wait for each other just before they write.
 * Whoever can't connect holds the others up for `patienceMs` and no longer.
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
        // Who gives up early doesn't let those behind pass those before.
        if (entry.before === undefined || entry.before.hasLeft) leave();
        else void orIn(patienceMs, entry.before.left).then(leave);
      },
    };
  }
  return { enter };
}

/** Settles with the promise, or after the time. */
function orIn(ms: number, promise: Promise<void>): Promise<void> {
  return within(ms, promise, () => undefined);
}
