/** Bounds the bytes of all mails that are in memory at once. */
export interface MemoryBudget {
  /** A share for one mail, until released. */
  join(): MemoryShare;
  readonly usedBytes: number;
}

export interface MemoryShare {
  /** Books what the mail holds now; whether more of it may be read. */
  hold(bytes: number): boolean;
  /** Calls back, once, when more may be read. */
  whenFree(readOn: () => void): void;
  release(): void;
}

/**
 * A mail up to `freeBytes` is counted but never waits, so that letters pass while great mails queue.
 * A greater one reads on while all mails together are within `limitBytes`; else it waits, in order, and
 * the pressure goes back to its sender through TCP.
 *
 * Mails that each hold a part and wait for each other would wait for ever, so the oldest of the great
 * ones may always read on: it ends, gives back what it held, and the next is the oldest. The bound can
 * thus be passed by one mail of the greatest size, and by the small ones.
 */
export function memoryBudget(limitBytes: number, freeBytes: number): MemoryBudget {
  let usedBytes = 0;
  const great = new Set<MemoryShare>();
  const waiting = new Map<MemoryShare, () => void>();

  const isOldest = (share: MemoryShare): boolean => great.values().next().value === share;

  function wake(): void {
    for (const [share, readOn] of waiting) {
      if (usedBytes > limitBytes && !isOldest(share)) continue;
      waiting.delete(share);
      readOn();
    }
  }

  function join(): MemoryShare {
    let held = 0;
    const share: MemoryShare = {
      hold(bytes) {
        usedBytes += bytes - held;
        held = bytes;
        if (held <= freeBytes) return true;
        great.add(share);
        return usedBytes <= limitBytes || isOldest(share);
      },
      whenFree(readOn) {
        waiting.set(share, readOn);
      },
      release() {
        usedBytes -= held;
        held = 0;
        great.delete(share);
        waiting.delete(share);
        if (waiting.size > 0) wake();
      },
    };
    return share;
  }

  return {
    join,
    get usedBytes() {
      return usedBytes;
    },
  };
}
