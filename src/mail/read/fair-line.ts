import { passingMemory } from "../../primitives/memory.ts";

/**
 * A queue of jobs for a few slots. The sender with the fewest slots is next, and among equal ones the sender served longest ago, so that a
 * thousand jobs of one sender delay no other. A sender is suspect for ten minutes after one of its jobs was killed. Suspects come last, and
 * together never take the last of several slots. The queue only keeps the order: it has no clock and no processes.
 */
export interface FairLine<Item> {
  add(sender: string, item: Item): void;
  /** Takes the next item and gives it a slot. */
  take(nowMs: number): Item | undefined;
  /** Removes a waiting item. Returns false if it was not waiting. */
  remove(sender: string, item: Item): boolean;
  /** Frees a slot when the job of one of the sender's items has ended. */
  leave(sender: string): void;
  /** Makes the sender a suspect, because its job was killed. */
  suspect(sender: string, nowMs: number): void;
  /** Removes all waiting items and returns them. */
  clear(): Item[];
  readonly length: number;
}

const suspectedMs = 10 * 60_000;
const mostSuspects = 10_000;

export function fairLine<Item>(slots: number): FairLine<Item> {
  /** The waiting items by sender. The sender that got a slot or joined the queue longest ago comes first. */
  const waiting = new Map<string, Item[]>();
  const served = new Map<string, number>();
  const suspects = passingMemory<string, true>(mostSuspects);
  const slotsOfSuspects = Math.max(1, slots - 1);

  function isSuspect(sender: string, nowMs: number): boolean {
    return suspects.get(sender, nowMs) === true;
  }

  function nextSender(nowMs: number): string | undefined {
    let suspectsServed = 0;
    for (const [sender, count] of served) if (isSuspect(sender, nowMs)) suspectsServed += count;
    let next: { sender: string; rank: number } | undefined;
    for (const sender of waiting.keys()) {
      const suspected = isSuspect(sender, nowMs);
      if (suspected && suspectsServed >= slotsOfSuspects) continue;
      const rank = (served.get(sender) ?? 0) + (suspected ? slots : 0);
      if (next === undefined || rank < next.rank) next = { sender, rank };
    }
    return next?.sender;
  }

  function keep(sender: string, items: Item[]): void {
    if (items.length > 0) waiting.set(sender, items);
    else waiting.delete(sender);
  }

  return {
    add(sender, item) {
      const items = waiting.get(sender);
      if (items === undefined) waiting.set(sender, [item]);
      else items.push(item);
    },
    take(nowMs) {
      const sender = nextSender(nowMs);
      if (sender === undefined) return undefined;
      const items = waiting.get(sender) ?? [];
      const item = items.shift();
      waiting.delete(sender);
      keep(sender, items);
      served.set(sender, (served.get(sender) ?? 0) + 1);
      return item;
    },
    remove(sender, item) {
      const items = waiting.get(sender) ?? [];
      const others = items.filter((each) => each !== item);
      keep(sender, others);
      return others.length < items.length;
    },
    leave(sender) {
      const count = (served.get(sender) ?? 0) - 1;
      if (count > 0) served.set(sender, count);
      else served.delete(sender);
    },
    suspect(sender, nowMs) {
      suspects.set(sender, true, nowMs + suspectedMs);
    },
    clear() {
      const items = [...waiting.values()].flat();
      waiting.clear();
      return items;
    },
    get length() {
      let length = 0;
      for (const items of waiting.values()) length += items.length;
      return length;
    },
  };
}
