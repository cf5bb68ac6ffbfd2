/** Deadlines of thousands of items with one timer, because a timer for each item costs memory. */
export interface Deadlines<One> {
  /** Calls `onEnd` with the item after `afterMs`, or up to one slot later, but never earlier. */
  add(one: One, afterMs: number): void;
  remove(one: One): void;
  /** All items whose deadline is not over. */
  all(): One[];
}

/** Deadlines within one slot end together. */
const slotMs = 20;

export function deadlines<One>(onEnd: (one: One) => void, nowMs = () => performance.now()): Deadlines<One> {
  const slotOf = new Map<One, number>();
  const slots = new Map<number, Set<One>>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let next = Number.POSITIVE_INFINITY;

  function arm(): void {
    clearTimeout(timer);
    next = Number.POSITIVE_INFINITY;
    for (const slot of slots.keys()) if (slot < next) next = slot;
    timer = slots.size === 0 ? undefined : setTimeout(endThoseDue, next * slotMs - nowMs());
  }

  function endThoseDue(): void {
    const now = nowMs();
    const due = [...slots].filter(([slot]) => slot * slotMs <= now).sort(([one], [other]) => one - other);
    for (const [slot, all] of due) {
      slots.delete(slot);
      for (const one of all) slotOf.delete(one);
    }
    arm();
    for (const [, all] of due) for (const one of all) onEnd(one);
  }

  return {
    add(one, afterMs) {
      const slot = Math.ceil((nowMs() + afterMs) / slotMs);
      const others = slots.get(slot);
      if (others === undefined) slots.set(slot, new Set([one]));
      else others.add(one);
      slotOf.set(one, slot);
      if (slot < next) arm();
    },
    remove(one) {
      const slot = slotOf.get(one);
      if (slot === undefined) return;
      slotOf.delete(one);
      const others = slots.get(slot);
      others?.delete(one);
      if (others?.size !== 0) return;
      slots.delete(slot);
      // Stops the timer after the last item, because it would keep the process from ending.
      if (slots.size === 0) arm();
    },
    all: () => [...slotOf.keys()],
  };
}
