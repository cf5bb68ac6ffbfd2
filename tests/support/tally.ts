/** A counter that a test can wait for. */
export interface Tally {
  add(): void;
  /** Resolves when `count` more have been added from now on. */
  more(count: number): Promise<void>;
}

export function tally(): Tally {
  let total = 0;
  const waiting = new Map<() => void, number>();
  return {
    add() {
      total += 1;
      for (const [resolve, end] of waiting) {
        if (total < end) continue;
        waiting.delete(resolve);
        resolve();
      }
    },
    more: (count) => new Promise((resolve) => waiting.set(resolve, total + count)),
  };
}
