/** The only source of time and randomness in the console. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

export { newIdempotencyKey, pause } from "../../sdk/typescript/src/machine.ts";

/** The current time, updated every 30 seconds, for texts such as "2 min ago". */
export const clock = signal(new Date());

export function startClock(): void {
  setInterval(() => {
    clock.value = new Date();
  }, 30_000);
}

export function now(): Date {
  return new Date();
}

/** Calls `work` at each tick of the clock while the tab is shown. */
export function useTick(work: () => void): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && !document.hidden) work();
    isFirst.current = false;
  }, [clock.value]);
}
