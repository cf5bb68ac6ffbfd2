/**
 * Lets many callers share one commit. While a batch commits, items gather for the next batch: an idle service adds no delay, and a busy one
 * makes one commit instead of fifty. Earlier versions, which waited until a batch was full, were always slower.
 */
export interface GroupCommitOptions<Item, Result> {
  /** Commits all items in one transaction. Returns their results in order. */
  commit: (items: Item[]) => Promise<Result[]>;
  sizeOf: (item: Item) => number;
  /**
   * Whether each item of a failed batch would also fail by itself, for example because the database is away. If not, the items are
   * committed one by one.
   */
  isHopeless: (error: unknown) => boolean;
  mostItems?: number;
  mostBytes?: number;
  inFlight?: number;
  /**
   * The least number of items of a batch that starts while another one runs; otherwise a batch starts with one item. If a batch costs much
   * more than its items, a few large batches do more than many small ones. A batch that has run for 100 ms does not count as running.
   */
  leastBeside?: number;
  /** Items that share a lane are never in two batches at the same time, because they would wait for each other's locks. */
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
      void commitBatch(batch).then((outcomes) => {
        running -= 1;
        for (const lane of lanes) busyLanes.delete(lane);
        start();
        // The next batch starts before the callers get their results, because their own work then takes about as long as a commit.
        if (running === 0) settle(batch, outcomes);
        else setImmediate(() => settle(batch, outcomes));
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

  async function commitBatch(batch: Waiting<Item, Result>[]): Promise<PromiseSettledResult<Result>[]> {
    try {
      const results = await options.commit(batch.map(({ item }) => item));
      return batch.map((_, index) => ({ status: "fulfilled", value: results[index] as Result }));
    } catch (reason) {
      if (batch.length === 1 || options.isHopeless(reason)) return batch.map(() => ({ status: "rejected", reason }));
      // One bad item must not fail the good ones of its batch.
      const outcomes: PromiseSettledResult<Result>[] = [];
      for (const waiting of batch) outcomes.push(...(await commitBatch([waiting])));
      return outcomes;
    }
  }

  function settle(batch: Waiting<Item, Result>[], outcomes: readonly PromiseSettledResult<Result>[]): void {
    for (const [index, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[index];
      if (outcome?.status === "fulfilled") resolve(outcome.value);
      else reject(outcome?.reason);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      if (isStarting) return;
      isStarting = true;
      // Items of the same turn of the event loop go into the same batch.
      queueMicrotask(start);
    });
}

/** A batch that takes longer is taken to hang. Most batches take a small part of this time. */
const hangsAfterMs = 100;
