/**
 * Many callers, one commit. While a batch commits, the next collects: an idle service adds no delay, a busy one
 * pays for one commit what would have been fifty. Lingering to fill a batch only loses.
 */
export interface GroupCommitOptions<Item, Result> {
  /** One transaction for all; answers in the order of the items. */
  commit: (items: Item[]) => Promise<Result[]>;
  sizeOf: (item: Item) => number;
  /** True for a failure that would meet each item alone as well: the database is away. */
  isHopeless: (error: unknown) => boolean;
  mostItems?: number;
  mostBytes?: number;
  inFlight?: number;
  /**
   * How many items a batch needs to start beside another. Where a batch costs much more than its items, a few large
   * ones do more than many small ones; alone, a batch starts with one. One that hangs keeps nobody waiting for company.
   */
  leastBeside?: number;
  /** Items that share a lane are never in two batches at once: the later one would be in the way of the earlier. */
  lanesOf?: (item: Item) => readonly string[];
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export function groupCommit<Item, Result>(options: GroupCommitOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { mostItems = 64, mostBytes = 4 << 20, inFlight = 2, leastBeside = 1, lanesOf } = options;
  let queue: Waiting<Item, Result>[] = [];
  const busyLanes = new Set<string>();
  let running = 0;
  let isStarting = false;
  let startedMs = 0;
  let willLookAgain = false;

  function leastToStart(): number {
    return running === 0 || performance.now() - startedMs >= hangsAfterMs ? 1 : leastBeside;
  }

  function start(): void {
    isStarting = false;
    while (running < inFlight && queue.length >= leastToStart()) {
      const batch = takeBatch();
      if (batch.length === 0) return;
      const lanes = lanesOf === undefined ? [] : batch.flatMap(({ item }) => lanesOf(item));
      for (const lane of lanes) busyLanes.add(lane);
      running += 1;
      startedMs = performance.now();
      void commitBatch(batch).then((answer) => {
        running -= 1;
        for (const lane of lanes) busyLanes.delete(lane);
        start();
        // The next batch is on its way before those of this one are told, which takes about as long as to store it.
        setImmediate(answer);
      });
    }
    if (queue.length > 0 && running < inFlight && !willLookAgain) {
      willLookAgain = true;
      setTimeout(lookAgain, hangsAfterMs);
    }
  }

  function lookAgain(): void {
    willLookAgain = false;
    start();
  }

  function takeBatch(): Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = [];
    const left: Waiting<Item, Result>[] = [];
    let sizeBytes = 0;
    let isFull = false;
    for (const waiting of queue) {
      const mustWait = busyLanes.size > 0 && lanesOf?.(waiting.item).some((lane) => busyLanes.has(lane)) === true;
      if (!isFull && !mustWait) {
        sizeBytes += options.sizeOf(waiting.item);
        isFull = batch.length === mostItems || (batch.length > 0 && sizeBytes > mostBytes);
      }
      (isFull || mustWait ? left : batch).push(waiting);
    }
    queue = left;
    return batch;
  }

  /** Answers what tells those who wait. */
  async function commitBatch(batch: Waiting<Item, Result>[]): Promise<() => void> {
    try {
      const results = await options.commit(batch.map(({ item }) => item));
      return () => {
        for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as Result);
      };
    } catch (error) {
      if (batch.length === 1 || options.isHopeless(error)) {
        return () => {
          for (const waiting of batch) waiting.reject(error);
        };
      }
      // One bad item must not refuse the good ones that came with it.
      const answers: (() => void)[] = [];
      for (const waiting of batch) answers.push(await commitBatch([waiting]));
      return () => {
        for (const answer of answers) answer();
      };
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      if (isStarting) return;
      isStarting = true;
      // What comes in the same turn of the loop goes into the same batch.
      queueMicrotask(start);
    });
}

/** Many times what a batch takes. */
const hangsAfterMs = 100;
