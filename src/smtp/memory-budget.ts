/** Bounds the bytes of all mails that are in memory at once, and shares them by where mail comes from. */
export interface MemoryBudget {
  /**
   * A share for one mail, until released. A mail without a network shares with nobody. `giveBack` is called where
   * others have waited long enough for what it holds, and has to release it.
   */
  join(network: string | undefined, giveBack: () => void): MemoryShare;
  /** Has those give back who are behind by a turn, where others have waited for one. Called now and then. */
  relieve(): void;
  readonly usedBytes: number;
}

export interface MemoryShare {
  /** Books what the mail holds now; whether more of it may be read. */
  hold(bytes: number): boolean;
  /** The mail is whole: its sender owes nothing any more. */
  cameWhole(): void;
  /** Calls back, once, when more may be read. */
  whenFree(readOn: () => void): void;
  release(): void;
}

export interface MemoryBounds {
  readonly limitBytes: number;
  /** A mail up to this size never waits for larger ones. */
  readonly freeBytes: number;
  readonly largestBytes: number;
  /** Whoever has waited for so long gets the memory of those who are so far behind `bytesPerSecond`. */
  readonly turnMs: number;
  readonly bytesPerSecond: number;
  readonly nowMs?: () => number;
}

/**
 * A mail up to `freeBytes` never waits for large ones, so that letters pass while large mails queue. All small ones together have
 * the bound too: ten thousand connections that each begin a letter and stop would hold ten times as much.
 * A larger one reads on while its network holds no more than is still free: one network alone gets half of all, two get a third
 * each, and whoever comes next finds room. Else a mail waits, in order, and the pressure goes back to its sender through TCP.
 *
 * Mails that each hold a part and wait for each other would wait for ever, so the oldest of the large
 * ones may always read on, and so may the oldest of the small ones: it ends, gives back what it held, and the next is the
 * oldest. The bound can thus be passed by one mail of the largest size, and by as much again in small ones.
 *
 * Whoever stops short of the bound holds his part and waits for nothing. So the time is counted in which a mail might have come
 * and did not: once others have waited for a turn, those give back who lost as much, whoever lost most first.
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
      // It was the oldest of its kind, perhaps, and another is now.
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

  /** Makes room for one more mail of the kind in the network that waits with the least: it is owed by all that hold more. */
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

/** Mails of one kind that are in memory, the oldest first. */
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

/** Networks that have mail in memory. */
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
  /** How long it has waited, all in all. */
  waitedMs(): number;
  /** How far it is behind the rate; what it brings above that is not saved up, or one could come fast and then stop. */
  lostMs(): number;
}

function turnClock(bytesPerSecond: number, nowMs: () => number): TurnClock {
  let waitsNow = false;
  let sinceMs = nowMs();
  let waitedMs = 0;
  let lostMs = 0;

  function reckon(): void {
    const passedMs = nowMs() - sinceMs;
    sinceMs += passedMs;
    if (waitsNow) waitedMs += passedMs;
    else lostMs += passedMs;
  }

  function turn(toWait: boolean): void {
    reckon();
    waitsNow = toWait;
  }

  return {
    came(bytes) {
      reckon();
      lostMs = Math.max(0, lostMs - (Math.max(0, bytes) * 1000) / bytesPerSecond);
    },
    wait: () => turn(true),
    goOn: () => turn(false),
    waitedMs() {
      reckon();
      return waitedMs;
    },
    lostMs() {
      reckon();
      return lostMs;
    },
  };
}
