import { useRef, useState } from "preact/hooks";

export interface Busy {
  isBusy: boolean;
  /** Runs the work, unless earlier work is still running, for example after a double click. */
  unlessBusy(work: () => Promise<void>): Promise<void>;
}

export function useBusy(): Busy {
  const [isBusy, setIsBusy] = useState(false);
  /** A ref, because it is set at once. A state is set only with the next rendering, too late for a double click. */
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
