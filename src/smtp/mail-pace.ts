/** Counts the mails of each network, in windows of a minute that begin with its first mail. */
export interface MailPace {
  /** Counts a mail. Returns false, and counts nothing, if its network has sent the most that it may in this window. */
  takes(network: string, nowMs: number): boolean;
}

const windowMs = 60_000;
/** The most networks to remember. One takes about 100 bytes. */
const mostNetworks = 100_000;

/** `most` is the limit of a network in a window; 0 is no limit. */
export function mailPace(most: number): MailPace {
  // The windows are in the order in which they began, which is also the order in which they end.
  const windows = new Map<string, { endsAtMs: number; mails: number }>();

  function forgetEnded(nowMs: number): void {
    for (const [network, { endsAtMs }] of windows) {
      if (endsAtMs > nowMs && windows.size < mostNetworks) return;
      windows.delete(network);
    }
  }

  return {
    takes(network, nowMs) {
      if (most === 0) return true;
      const window = windows.get(network);
      if (window !== undefined && window.endsAtMs > nowMs) {
        if (window.mails >= most) return false;
        window.mails += 1;
        return true;
      }
      windows.delete(network);
      forgetEnded(nowMs);
      windows.set(network, { endsAtMs: nowMs + windowMs, mails: 1 });
      return true;
    },
  };
}
