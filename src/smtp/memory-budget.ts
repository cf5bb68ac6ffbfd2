/** Limits the bytes of all mails in memory, and shares them among the networks that mail comes from. */
export interface MemoryBudget {
  /**
   * Opens a share for one mail, until it is released. A mail without a network counts as a network of its own. `giveBack` is called when
   * others have waited too long for the memory of this mail, and must release the share.
   */
  join(network: string | undefined, giveBack: () => void): MemoryShare;
  /** Takes memory from mails that are too slow, if others have waited for `turnMs`. Called regularly. */
  relieve(): void;
  readonly usedBytes: number;
}

export interface MemoryShare {
  /** Reserves the bytes that the mail holds now. Returns whether more of it may be read. */
  hold(bytes: number): boolean;
  /** Notes that the mail is complete: its memory is no longer taken back as that of a slow sender. */
  cameWhole(): void;
  /** Calls back once, when more may be read. */
  whenFree(readOn: () => void): void;
  release(): void;
}

export interface MemoryBounds {
  readonly limitBytes: number;
  /** A mail up to this size does not wait for larger ones. */
  readonly freeBytes: number;
  readonly largestBytes: number;
  /** After this time, a mail that waits gets the memory of mails that are at least this far behind `bytesPerSecond`. */
  readonly turnMs: number;
  readonly bytesPerSecond: number;
  readonly nowMs?: () => number;
}

/**
 * A mail up to `freeBytes` does not wait for large ones, so small mails pass while large mails queue. The same limit applies to all small
 * mails together: without it, ten thousand connections that each begin a small mail and stop would hold ten times as much.
 * A larger mail is read on while its network holds at most as much as is still free: one network alone gets half of the limit, two get a
 * third each, and there is always room for one more. Otherwise the mail waits in order, and TCP slows down its sender.
 *
 * Mails that each hold a part of the memory and wait for each other would wait for ever. So the oldest large mail and the oldest small
 * mail are always read on: when it ends, it frees its memory, and the next one is the oldest. Large mails can thus exceed the limit by one
 * mail of the largest size, and small mails can fill the limit once more beside them.
 *
 * A sender that stops in the middle keeps its memory and does not wait for any. So the clock of a mail counts the time by which it is
 * behind `bytesPerSecond` while it is read: once another mail has waited for `turnMs`, the mails that lost that much time give back their
 * memory, the slowest first.
 */
export function memoryBudget({ nowMs = () => performance.now(), ...bounds }: MemoryBounds): MemoryBudget {
  const small = kindOf(bounds.freeBytes);
  const large = kindOf(bounds.largestBytes);
  const networks = networksOf();
  const waiting = new Map<Mail, () => void>();

  function freeBytes(kind: Kind): number {
    return bounds.limitBytes - small.bytes - (kind === large ? large.bytes : 0);
  }

  function mayReadOn(mail: Mail): boolean {
    const { kind, network } = mail;
    if (kind.mails.values().next().value === mail) return true;
    return freeBytes(kind) >= (kind === large ? network.bytes : 0);
  }

  function wake(): void {
    for (const [mail, readOn] of waiting) {
      if (!mayReadOn(mail)) continue;
      waiting.delete(mail);
      mail.clock.goOn();
      readOn();
    }
  }

  function hold(mail: Mail, bytes: number): boolean {
    const before = mail.kind;
    mail.clock.came(bytes - mail.bytes);
    book(mail, 0);
    mail.kind = bytes > bounds.freeBytes ? large : small;
    book(mail, bytes);
    mail.kind.mails.add(mail);
    if (mail.kind !== before) {
      before.mails.delete(mail);
      // It may have been the oldest of its kind, and now another is.
      wake();
    }
    return mayReadOn(mail);
  }

  function release(mail: Mail): void {
    book(mail, 0);
    mail.kind.mails.delete(mail);
    networks.leave(mail);
    waiting.delete(mail);
    wake();
  }

  /**
   * Makes room for the mail that has waited too long and whose network holds least. Slow mails of networks that hold as much or more
   * give back their memory.
   */
  function relieveKind(kind: Kind): void {
    const [owed] = [...waiting.keys()]
      .filter((mail) => mail.kind === kind && mail.clock.waitedMs() >= bounds.turnMs)
      .sort((a, b) => a.network.bytes - b.network.bytes);
    if (owed === undefined) return;
    const slow = [...kind.mails]
      .filter((mail) => mail !== owed && !mail.isWhole && mail.network.bytes >= owed.network.bytes)
      .filter((mail) => mail.clock.lostMs() >= bounds.turnMs)
      .sort((a, b) => b.clock.lostMs() - a.clock.lostMs());
    for (const mail of slow) if (freeBytes(kind) < owed.network.bytes + kind.largestBytes) mail.giveBack();
  }

  return {
    join(name, giveBack) {
      const clock = turnClock(bounds.bytesPerSecond, nowMs);
      const mail: Mail = { kind: small, network: networks.find(name), bytes: 0, isWhole: false, clock, giveBack };
      mail.network.mails.add(mail);
      return {
        hold: (bytes) => hold(mail, bytes),
        cameWhole() {
          mail.isWhole = true;
        },
        whenFree(readOn) {
          clock.wait();
          waiting.set(mail, readOn);
        },
        release: () => release(mail),
      };
    },
    relieve() {
      relieveKind(small);
      relieveKind(large);
    },
    get usedBytes() {
      return small.bytes + large.bytes;
    },
  };
}

interface Mail {
  kind: Kind;
  readonly network: Network;
  bytes: number;
  isWhole: boolean;
  readonly clock: TurnClock;
  giveBack(): void;
}

/** The mails of one kind in memory, the oldest first. */
interface Kind {
  bytes: number;
  readonly largestBytes: number;
  readonly mails: Set<Mail>;
}

const kindOf = (largestBytes: number): Kind => ({ bytes: 0, largestBytes, mails: new Set() });

interface Network {
  readonly name: string | undefined;
  bytes: number;
  readonly mails: Set<Mail>;
}

/** The networks that have mail in memory. */
function networksOf() {
  const known = new Map<string | undefined, Network>();
  return {
    find(name: string | undefined): Network {
      const network = known.get(name) ?? { name, bytes: 0, mails: new Set() };
      if (name !== undefined) known.set(name, network);
      return network;
    },
    leave(mail: Mail): void {
      const { network } = mail;
      if (network.mails.delete(mail) && network.mails.size === 0) known.delete(network.name);
    },
  };
}

function book(mail: Mail, bytes: number): void {
  mail.kind.bytes += bytes - mail.bytes;
  mail.network.bytes += bytes - mail.bytes;
  mail.bytes = bytes;
}

interface TurnClock {
  came(bytes: number): void;
  wait(): void;
  goOn(): void;
  /** The time that the mail has waited in all. */
  waitedMs(): number;
  /** The time by which the mail is behind the rate. Being ahead is not saved, since a sender could be fast first and then stop. */
  lostMs(): number;
}

function turnClock(bytesPerSecond: number, nowMs: () => number): TurnClock {
  let waitsNow = false;
  let sinceMs = nowMs();
  let waitedMs = 0;
  let lostMs = 0;

  function count(): void {
    const passedMs = nowMs() - sinceMs;
    sinceMs += passedMs;
    if (waitsNow) waitedMs += passedMs;
    else lostMs += passedMs;
  }

  function turn(toWait: boolean): void {
    count();
    waitsNow = toWait;
  }

  return {
    came(bytes) {
      count();
      lostMs = Math.max(0, lostMs - (Math.max(0, bytes) * 1000) / bytesPerSecond);
    },
    wait: () => turn(true),
    goOn: () => turn(false),
    waitedMs() {
      count();
      return waitedMs;
    },
    lostMs() {
      count();
      return lostMs;
    },
  };
}
