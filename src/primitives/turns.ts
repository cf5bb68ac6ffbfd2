/**
 * Runs work that blocks the process, in pieces. After pieces of `longestMs` in all, the event loop runs other work before the next piece.
 * The next piece is always that of the owner whose work has taken the least time.
 */
export interface Turns {
  /** Does the work for each item, in order. */
  takeEach<Item, Result>(owner: string, items: readonly Item[], work: (item: Item) => Result): Promise<Result[]>;
}

interface Line {
  /** Each job does one piece, and returns whether there is more. The jobs alternate. */
  jobs: (() => boolean)[];
  spentMs: number;
}

export function turns(longestMs: number, nowMs = () => performance.now()): Turns {
  const lines = new Map<string, Line>();
  let spentMs = 0;
  let isScheduled = false;

  function goOn(): void {
    while (lines.size > 0 && spentMs < longestMs) doPiece();
    if (lines.size === 0 || isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      spentMs = 0;
      goOn();
    });
  }

  function doPiece(): void {
    const [owner, line] = leastServed();
    const job = line.jobs.shift();
    const beganMs = nowMs();
    if (job?.()) line.jobs.push(job);
    const tookMs = nowMs() - beganMs;
    spentMs += tookMs;
    line.spentMs += tookMs;
    if (line.jobs.length === 0) lines.delete(owner);
  }

  function leastServed(): [string, Line] {
    const [first, ...others] = lines;
    if (first === undefined) throw new Error("Cannot take a turn: no work waits");
    return others.reduce((least, other) => (other[1].spentMs < least[1].spentMs ? other : least), first);
  }

  return {
    takeEach: (owner, items, work) =>
      new Promise((resolve, reject) => {
        const results: ReturnType<typeof work>[] = [];
        const job = () => {
          const next = items[results.length];
          try {
            if (results.length < items.length) results.push(work(next as (typeof items)[number]));
          } catch (error) {
            reject(error);
            return false;
          }
          if (results.length < items.length) return true;
          resolve(results);
          return false;
        };
        // A new owner starts with the least time of all waiting owners. With 0 it would come before all others for a long time.
        const line = lines.get(owner) ?? {
          jobs: [],
          spentMs: Math.min(...Array.from(lines.values(), (each) => each.spentMs)),
        };
        if (!Number.isFinite(line.spentMs)) line.spentMs = 0;
        line.jobs.push(job);
        lines.set(owner, line);
        if (!isScheduled) goOn();
      }),
  };
}
