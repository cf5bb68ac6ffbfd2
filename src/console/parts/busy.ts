import { useRef, useState } from "preact/hooks";

export interface Busy {
  isBusy: boolean;
  /** What is asked for while something is under way, as by a double click, is not begun. */
  unlessBusy(work: () => Promise<void>): Promise<void>;
}

export function useBusy(): Busy {
  const [isBusy, setIsBusy] = useState(false);
  const isUnderWay = useRef(false);
  async function unlessBusy(work: () => Promise<void>) {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setIsBusy(true);
    try {
      await work();
    } finally {
      isUnderWay.current = false;
      setIsBusy(false);
    }
  }
  return { isBusy, unlessBusy };
}
