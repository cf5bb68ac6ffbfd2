import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { oneAtATime } from "./one-at-a-time.ts";

export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  /** It takes long enough that one would wonder: then something is shown in its place. */
  isSlow: boolean;
  /** Asks again and shows what there is until then. An answer on its way is shown too, and is not the last. */
  reload(): void;
}

const patienceMs = 200;

/** What was asked for, asked again when what it depends on changes; an answer to an earlier question is not shown. */
export function useLoaded<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  dependsOn: readonly unknown[],
): Loaded<Value> {
  const [shown, setShown] = useState<Omit<Loaded<Value>, "reload">>(nothingYet);
  const question = useRef(ask);
  question.current = ask;
  const reload = useRef(() => {});

  useEffect(() => {
    setShown(nothingYet);
    const controller = new AbortController();
    const { signal } = controller;
    reload.current = oneAtATime(async () => {
      if (signal.aborted) return;
      const timer = setTimeout(() => setShown((last) => ({ ...last, isSlow: last.value === undefined })), patienceMs);
      signal.addEventListener("abort", () => clearTimeout(timer));
      const next = await question
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

/** Runs the jobs, so many at a time, and gives what they come to in their order. */
export async function severalAtOnce<Value>(jobs: readonly (() => Promise<Value>)[], most = 6): Promise<Value[]> {
  const results: Value[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < jobs.length; index = next++) {
      const job = jobs[index];
      if (job) results[index] = await job();
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, jobs.length) }, worker));
  return results;
}
