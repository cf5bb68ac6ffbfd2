/** Time and chance, which everything else is given: this file alone may ask the machine for them. */
export interface TimeAndChance {
  now: () => Date;
  /** Counts the milliseconds that pass. With it a service goes by its database's clock, which this carries on, and not by `now`. */
  elapsedMs?: () => number;
  random: () => number;
  randomBytes: (length: number) => Uint8Array;
}

export const realWorld: TimeAndChance = {
  now: () => new Date(),
  elapsedMs: performance.now.bind(performance),
  random: Math.random,
  randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};
