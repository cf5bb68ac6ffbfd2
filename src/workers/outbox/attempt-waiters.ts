import { boundedMemory } from "../../primitives/memory.ts";

const mostRemembered = 1000;

/** Those who wait for one attempt to be written down; also who asks just after it was. */
export function attemptWaiters() {
  const waiters = new Map<string, Set<() => void>>();
  const toldLately = boundedMemory<string, true>(mostRemembered);

  return {
    tell(subjectId: string): void {
      toldLately.set(subjectId, true);
      for (const resolve of waiters.get(subjectId) ?? []) resolve();
    },
    /** Resolves when it is told of, or after the time. */
    until(subjectId: string, timeoutMs: number): Promise<void> {
      if (toldLately.get(subjectId)) return Promise.resolve();
      return new Promise((resolve) => {
        const waiting = waiters.get(subjectId) ?? new Set();
        waiters.set(subjectId, waiting);
        const done = () => {
          clearTimeout(timer);
          waiting.delete(done);
          if (waiting.size === 0) waiters.delete(subjectId);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        waiting.add(done);
      });
    },
  };
}
