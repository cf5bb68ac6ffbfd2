import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Loaded<Value> {
  value: Value | undefined;
  error: unknown;
  /** It takes long enough that one would wonder: then something is shown in its place. */
  isSlow: boolean;
  /** Asks again and shows what there is until then. */
  reload(): void;
}

const patienceMs = 200;

/** What was asked for, asked again when what it depends on changes; an answer to an earlier question is not shown. */
export function useLoaded<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  dependsOn: readonly unknown[],
): Loaded<Value> {
  const [shown, setShown] = useState<{ value: Value | undefined; error: unknown; isSlow: boolean }>({
    ...{ value: undefined, error: undefined, isSlow: false },
  });
  const [round, setRound] = useState(0);
  const before = useRef<readonly unknown[]>([]);
  const question = useRef(ask);
  question.current = ask;

  useEffect(() => {
    const isOther = dependsOn.some((part, index) => part !== before.current[index]);
    before.current = dependsOn;
    if (isOther) setShown({ value: undefined, error: undefined, isSlow: false });
    const controller = new AbortController();
    const timer = setTimeout(() => setShown((last) => ({ ...last, isSlow: last.value === undefined })), patienceMs);
    question
      .current(controller.signal)
      .then((value) => ({ value, error: undefined, isSlow: false }))
      .catch((error: unknown) => ({ value: undefined, error, isSlow: false }))
      .then((next) => {
        clearTimeout(timer);
        if (!controller.signal.aborted) setShown(next);
      })
      .catch(() => undefined);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [...dependsOn, round]);

  return { ...shown, reload: useCallback(() => setRound((last) => last + 1), []) };
}

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
