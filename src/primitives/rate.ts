import { passingMemory } from "./memory.ts";

/** Limits how often each key may do something. */
export interface Rate<Key> {
  /** Counts one more. Returns the milliseconds until the key may go on; undefined if it may now. */
  take(key: Key, nowMs: number): number | undefined;
}

/** At most `most` in each period of a key, which begins with its first one. At most `keys` of them are remembered. */
export function rate<Key>({ most, periodMs, keys }: { most: number; periodMs: number; keys: number }): Rate<Key> {
  const periods = passingMemory<Key, { count: number; endMs: number }>(keys);
  return {
    take(key, nowMs) {
      const known = periods.get(key, nowMs);
      const period = known ?? { count: 0, endMs: nowMs + periodMs };
      if (known === undefined) periods.set(key, period, period.endMs);
      period.count += 1;
      return period.count > most ? period.endMs - nowMs : undefined;
    },
  };
}
