/** Random values from a seed, so that a run can be repeated. */
export interface Chance {
  /** At least 0 and below 1. */
  (): number;
  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number;
  pick<Item>(items: readonly Item[]): Item;
  /** True with this probability. */
  is(probability: number): boolean;
  /** An independent generator: the draws of one driver do not depend on those of another. */
  fork(): Chance;
}

/** mulberry32: 32 bits of state are enough to choose faults. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const draw = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (least: number, most: number) => least + Math.floor(draw() * (most - least + 1));
  return Object.assign(draw, {
    whole,
    pick<Item>(items: readonly Item[]): Item {
      const item = items[whole(0, items.length - 1)];
      if (item === undefined) throw new Error("Cannot pick from nothing");
      return item;
    },
    is: (probability: number) => draw() < probability,
    fork: () => chanceOf(whole(0, 2 ** 32 - 1)),
  });
}
