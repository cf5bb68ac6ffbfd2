/** A reader of the log itself holds a page of it in memory, so only a few read it at the same time; the others wait in line. */
export interface LogTurns {
  /** Resolves with the function that gives the turn back. The reader says how many bytes it has read since it fell behind. */
  take(readBytes: number): Promise<() => void>;
  /** Whether a reader waits for a turn. */
  areWanted(): boolean;
}

/**
 * Turns go to the reader that has read least and to the one that has waited longest, one after the other: a new one begins at once
 * beside hundreds that fill their connections, and one with a long way to go still gets there.
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
      new Promise((given) => {
        waiting.push({
          readBytes,
          start: () =>
            given(() => {
              taken -= 1;
              startNext();
            }),
        });
        startNext();
      }),
    areWanted: () => waiting.length > 0,
  };
}
