/** How soon it is looked again for what an older transaction holds back: at first, and at most. */
const heldBackMs = { least: 5, most: 500 };

/** The feeds with events that an older transaction holds back. */
export interface HeldFeeds<Feed> {
  /** Tells that these were read, which of them are held back, and whether there was anything new. */
  haveRead(read: Iterable<Feed>, heldBack: readonly Feed[], hasMoved: boolean): void;
  stop(): void;
}

/** Nobody tells when the transaction that holds events back has ended: so it is looked, soon at first and then less often. */
export function heldFeeds<Feed>(look: (feeds: readonly Feed[]) => void): HeldFeeds<Feed> {
  const held = new Set<Feed>();
  let waitMs = heldBackMs.least;
  let next: { timer: ReturnType<typeof setTimeout>; afterMs: number } | undefined;

  function lookAgain(): void {
    next = undefined;
    const again = [...held];
    // Reading them tells which are held back still; who has left is read no more.
    held.clear();
    look(again);
  }

  return {
    haveRead(read, heldBack, hasMoved) {
      for (const feed of read) held.delete(feed);
      for (const feed of heldBack) held.add(feed);
      if (held.size === 0 || hasMoved) waitMs = heldBackMs.least;
      // Others' reads don't put it off.
      if (held.size === 0 || (next !== undefined && next.afterMs <= waitMs)) return;
      clearTimeout(next?.timer);
      next = { timer: setTimeout(lookAgain, waitMs), afterMs: waitMs };
      waitMs = Math.min(waitMs * 2, heldBackMs.most);
    },
    stop: () => clearTimeout(next?.timer),
  };
}
