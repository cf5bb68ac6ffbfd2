/** How many things are done at once, and how many may wait for that. */
export interface Slots {
  /** Whether there is a slot, or will be: who comes first gets the first. Who got one gives it back. */
  take(): Promise<boolean>;
  giveBack(): void;
}

export function slots(most: number, mostWaiting: number): Slots {
  const waiting = new Set<(hasSlot: true) => void>();
  let free = most;

  return {
    async take() {
      if (free > 0) {
        free -= 1;
        return true;
      }
      if (waiting.size >= mostWaiting) return false;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.add(resolve);
      return promise;
    },
    giveBack() {
      const [next] = waiting;
      if (next === undefined) {
        free += 1;
        return;
      }
      waiting.delete(next);
      next(true);
    },
  };
}
