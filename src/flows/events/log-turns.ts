/** Limits how many readers read the log at the same time, because each has a page of it in memory. The others wait for a turn. */
export interface LogTurns {
  /** Waits for a turn. `readBytes` is the number of bytes that the reader has read since it fell behind the ring. */
  take(readBytes: number): Promise<void>;
  giveBack(): void;
  /** Whether a reader waits for a turn. */
  areWanted(): boolean;
}

/**
 * Gives turns alternately to the reader that has read the fewest bytes and to the one that has waited longest. So a new reader begins soon,
 * even if hundreds of slow ones wait, and a reader that is far behind still gets to the end.
 */
export function logTurns(most: number): LogTurns {
  const waiting: { readBytes: number; start(): void }[] = [];
  let taken = 0;
  let isForLongest = false;

  function startNext(): void {
    if (taken >= most || waiting.length === 0) return;
    isForLongest = !isForLongest;
    const [next] = waiting.splice(isForLongest ? 0 : indexOfLeast(), 1);
    taken += 1;
    next?.start();
  }

  function indexOfLeast(): number {
    return waiting.reduce(
      (least, { readBytes }, at) => (readBytes <= (waiting[least]?.readBytes ?? 0) ? at : least),
      0,
    );
  }

  return {
    take: (readBytes) =>
      new Promise((start) => {
        waiting.push({ readBytes, start });
        startNext();
      }),
    giveBack() {
      taken -= 1;
      startNext();
    },
    areWanted: () => waiting.length > 0,
  };
}
