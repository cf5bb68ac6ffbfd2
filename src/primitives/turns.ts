/** Work that holds the whole process up while it lasts: done piece by piece, and after so much of it others are served first. */
export interface Turns {
  take<Result>(work: () => Result): Promise<Result>;
}

export function turns(longestMs: number): Turns {
  let spentMs = 0;
  let othersServed: Promise<void> | undefined;

  function serveOthers(): Promise<void> {
    othersServed ??= new Promise((resolve) =>
      setImmediate(() => {
        othersServed = undefined;
        spentMs = 0;
        resolve();
      }),
    );
    return othersServed;
  }

  return {
    async take(work) {
      // Of those who waited together the first may have spent it all again.
      while (spentMs >= longestMs) await serveOthers();
      const beganMs = performance.now();
      try {
        return work();
      } finally {
        spentMs += performance.now() - beganMs;
      }
    },
  };
}
