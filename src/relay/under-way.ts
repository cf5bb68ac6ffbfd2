/** The set of promises that have not settled. */
export function workUnderWay() {
  const underWay = new Set<Promise<unknown>>();
  return {
    /** Adds a promise until it settles, and returns it. */
    keep<T>(work: Promise<T>): Promise<T> {
      underWay.add(work);
      const done = () => underWay.delete(work);
      work.then(done, done);
      return work;
    },
    /** Resolves when all have settled, including those that were added meanwhile. */
    async ended(): Promise<void> {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
