import { boundedMemory } from "../../primitives/memory.ts";

const mostRemembered = 1000;

/**
 * Lets requests wait until an attempt of a row is recorded. The last 1000 recorded rows are remembered, so that a request that comes just
 * after that does not wait.
 */
export function attemptWaiters() {
  const waiters = new Map<string, Set<() => void>>();
  const recent = boundedMemory<string, true>(mostRemembered);

  return {
    notify(subjectId: string): void {
      recent.set(subjectId, true);
      for (const resolve of waiters.get(subjectId) ?? []) resolve();
    },
    /** Resolves when the attempt is recorded, or at the timeout. */
    until(subjectId: string, timeoutMs: number): Promise<void> {
      if (recent.get(subjectId)) return Promise.resolve();
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
