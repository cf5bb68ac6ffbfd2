/** Limits the bytes of all mails in memory, and shares them among the networks that mail comes from. */
export interface MemoryBudget {
  /**
   * Opens a share for one mail, until `release`. If `network` is undefined, the mail counts as a network of its own. `giveBack` is called
   * when other mails have waited too long for the memory of this one; it must call `release`.
   */
  join(network: string | undefined, giveBack: () => void): MemoryShare;
  /** Takes memory back from slow mails, if others have waited for `turnMs`. Must be called regularly. */
  relieve(): void;
  readonly usedBytes: number;
}

export interface MemoryShare {
  /** Sets the number of bytes that the mail holds now. Returns whether more of it may be read. */
  hold(bytes: number): boolean;
  /** Notes that the mail is complete. Its memory is then no longer taken back. */
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
  /**
   * A mail that has waited for this time gets the memory of mails that are late by at least the same time, measured by `bytesPerSecond`.
   */
  readonly turnMs: number;
  readonly bytesPerSecond: number;
  readonly nowMs?: () => number;
}

/**
 * A mail up to `freeBytes` is small. It does not wait for large ones, so small mails pass while large mails queue. All small mails together
 * may hold `limitBytes`: without this limit, ten thousand connections that each begin a small mail and stop would hold ten times as much. A
 * larger mail is read on while its network holds at most as much as is still free: one network alone gets half of the limit, two get a
 * third each, and there is always room for one more. Otherwise the mail waits in order, and TCP slows down its sender.
 *
 * Mails that each hold a part of the memory and wait for each other would wait for ever. So the oldest large mail and the oldest small mail
 * are always read on. When one of them ends, its memory is free, and the next mail is the oldest. Large mails can thus exceed the limit by
 * one mail of the largest size, and small mails can fill the limit once more beside them.
 *
 * A sender that stops in the middle of a mail would keep its memory. So each mail has a clock of the time by which it is late, measured by
 * `bytesPerSecond`; the time in which it waits for memory does not count. Once another mail has waited for `turnMs`, the mails that are
 * late by that much give back their memory, the slowest first.
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
      // If it was the oldest mail of its kind, another one is now, and may be read on.
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
   * Makes room for one of the mails that have waited for `turnMs`: the one whose network holds least. Slow mails of networks that hold at
   * least as much give back their memory.
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
  /** The time by which the mail is late. A mail cannot be early: a sender could otherwise be fast first and then stop for long. */
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
