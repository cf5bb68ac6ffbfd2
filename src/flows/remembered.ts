/** One answer for all who ask within the time, also while it is on its way. */
export function remembered<T>(read: () => Promise<T>, forMs: number): () => Promise<T> {
  let answer: Promise<T> | undefined;
  let askedMs = 0;
  return () => {
    const nowMs = performance.now();
    if (answer === undefined || nowMs - askedMs >= forMs) {
      answer = read();
      askedMs = nowMs;
    }
    return answer;
  };
}
