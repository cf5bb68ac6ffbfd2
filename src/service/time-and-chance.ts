/** Time and chance. Only this file may read them from the machine; everything else gets them as arguments. */
export interface TimeAndChance {
  now: () => Date;
  /** A monotonic clock in milliseconds. If there is one, the service uses its database's clock, continued by this one, instead of `now`. */
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
