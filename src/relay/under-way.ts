/** Work that has not ended, for whoever must wait for all of it. */
export function workUnderWay() {
  const underWay = new Set<Promise<unknown>>();
  return {
    /** The same work, kept until it ends. */
    keep<T>(work: Promise<T>): Promise<T> {
      underWay.add(work);
      const done = () => underWay.delete(work);
      work.then(done, done);
      return work;
    },
    /** Resolves when all has ended, what was begun meanwhile included. */
    async ended(): Promise<void> {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
