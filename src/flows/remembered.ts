/**
 * Returns a function that calls `read` at most once in `forMs`. All its calls within that time share the result, also while `read` is still
 * running.
 */
export function remembered<T>(read: () => Promise<T>, forMs: number): () => Promise<T> {
  let result: Promise<T> | undefined;
  let readMs = 0;
  return () => {
    const nowMs = performance.now();
    if (result === undefined || nowMs - readMs >= forMs) {
      result = read();
      readMs = nowMs;
    }
    return result;
  };
}
