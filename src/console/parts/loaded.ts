import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  /** Whether nothing was loaded within 200 ms. A placeholder is then shown. */
  isSlow: boolean;
  /**
   * Loads again. The current value stays until the new one is loaded. If a request is in progress, another one follows
   * it.
   */
  reload(): void;
}

const slowMs = 200;

/** Loads a value, and loads it again when `dependsOn` changes. Responses to earlier requests are ignored. */
export function useLoaded<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  dependsOn: readonly unknown[],
): Loaded<Value> {
  const [shown, setShown] = useState<Omit<Loaded<Value>, "reload">>(nothingYet);
  const latest = useRef(load);
  latest.current = load;
  const reload = useRef(() => {});

  useEffect(() => {
    setShown(nothingYet);
    const controller = new AbortController();
    const { signal } = controller;
    reload.current = oneAtATime(async () => {
      if (signal.aborted) return;
      const timer = setTimeout(() => setShown((last) => ({ ...last, isSlow: last.value === undefined })), slowMs);
      signal.addEventListener("abort", () => clearTimeout(timer));
      const next = await latest
        .current(signal)
        .then((value) => ({ value, error: undefined, isSlow: false }))
        .catch((error: unknown) => ({ value: undefined, error, isSlow: false }));
      clearTimeout(timer);
      if (!signal.aborted) setShown(next);
    });
    reload.current();
    return () => controller.abort();
  }, dependsOn);

  return { ...shown, reload: useCallback(() => reload.current(), []) };
}

const nothingYet = { value: undefined, error: undefined, isSlow: false };

/** Runs one job at a time. Calls during a run cause one more run after it. */
export function oneAtATime(job: () => Promise<void>): () => void {
  let isRunning = false;
  let isRunAgain = false;
  async function run(): Promise<void> {
    isRunning = true;
    try {
      do {
        isRunAgain = false;
        await job();
      } while (isRunAgain);
    } finally {
      isRunning = false;
    }
  }
  return () => {
    if (isRunning) isRunAgain = true;
    else void run();
  };
}

/** Applies `work` to each item, at most `max` at a time. The results are in the order of the items. */
export async function mapAtMost<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
  max = 6,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const worker = async () => {
    for (const [index, item] of left) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, worker));
  return results;
}
