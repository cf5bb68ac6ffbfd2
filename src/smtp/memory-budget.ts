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
 * A mail up to `freeBytes` never waits for large ones, so that letters pass while large mails queue. All small ones together have
 * the bound too: ten thousand connections that each begin a letter and stop would hold ten times as much.
 * A larger one reads on while all mails together are within `limitBytes`. Else a mail waits, in order, and
 * the pressure goes back to its sender through TCP.
 *
 * Mails that each hold a part and wait for each other would wait for ever, so the oldest of the large
 * ones may always read on, and so may the oldest of the small ones: it ends, gives back what it held, and the next is the
 * oldest. The bound can thus be passed by one mail of the largest size, and by as much again in small ones.
 */
export function memoryBudget(limitBytes: number, freeBytes: number): MemoryBudget {
  const small: Kind = { bytes: 0, shares: new Set() };
  const large: Kind = { bytes: 0, shares: new Set() };
  const waiting = new Map<MemoryShare, { mayReadOn: () => boolean; readOn: () => void }>();

  function wake(): void {
    for (const [share, { mayReadOn, readOn }] of waiting) {
      if (!mayReadOn()) continue;
      waiting.delete(share);
      readOn();
    }
  }

  function join(): MemoryShare {
    let held = 0;
    let kind = small;

    function mayReadOn(): boolean {
      const bounded = kind === small ? small.bytes : small.bytes + large.bytes;
      return bounded <= limitBytes || kind.shares.values().next().value === share;
    }

    const share: MemoryShare = {
      hold(bytes) {
        const before = kind;
        kind.bytes -= held;
        kind = bytes > freeBytes ? large : small;
        kind.bytes += bytes;
        kind.shares.add(share);
        held = bytes;
        if (kind !== before) {
          before.shares.delete(share);
          // It was the oldest of its kind, perhaps, and another is now.
          wake();
        }
        return mayReadOn();
      },
      whenFree(readOn) {
        waiting.set(share, { mayReadOn, readOn });
      },
      release() {
        kind.bytes -= held;
        held = 0;
        kind.shares.delete(share);
        waiting.delete(share);
        wake();
      },
    };
    return share;
  }

  return {
    join,
    get usedBytes() {
      return small.bytes + large.bytes;
    },
  };
}

/** Mails of one kind that are in memory, the oldest first. */
interface Kind {
  bytes: number;
  readonly shares: Set<MemoryShare>;
}
