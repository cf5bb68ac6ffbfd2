/** Time and chance: this file alone asks the browser for them. */
import { signal } from "@preact/signals";

export { newIdempotencyKey, pause } from "../../sdk/typescript/src/machine.ts";

/** Now, told anew each half minute: what says "2 min ago" follows it. */
export const clock = signal(new Date());

export function startClock(): void {
  setInterval(() => {
    clock.value = new Date();
  }, 30_000);
}

export function now(): Date {
  return new Date();
}
