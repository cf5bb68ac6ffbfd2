/** Reads at most once in `forMs`. All calls within that time share the result, also while it is being read. */
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
