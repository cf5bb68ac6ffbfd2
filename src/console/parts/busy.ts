import { useRef, useState } from "preact/hooks";

export interface Busy {
  isBusy: boolean;
  /** Runs the work, unless earlier work is still running, for example after a double click. */
  unlessBusy(work: () => Promise<void>): Promise<void>;
}

export function useBusy(): Busy {
  const [isBusy, setIsBusy] = useState(false);
  /** Set at once, while the state is set with the next rendering. */
  const isRunning = useRef(false);
  async function unlessBusy(work: () => Promise<void>) {
    if (isRunning.current) return;
    isRunning.current = true;
    setIsBusy(true);
    try {
      await work();
    } finally {
      isRunning.current = false;
      setIsBusy(false);
    }
  }
  return { isBusy, unlessBusy };
}
