import type { Histogram } from "./registry.ts";

/** Bounds in seconds, from work in memory up to a time that no client waits for. */
export const quickBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bounds in seconds of the time that a person takes: from ten seconds to three days. */
export const personBounds = [10, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 172_800, 259_200];
export const networkBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Observes the seconds since an instant of `performance.now()`. */
export function observeSince(histogram: Histogram, startedMs: number): void {
  histogram.observe((performance.now() - startedMs) / 1000);
}

/** `2xx` and so on. A label for each status would make too many series. */
export function classOf(status: number): string {
  return `${Math.trunc(status / 100)}xx`;
}
