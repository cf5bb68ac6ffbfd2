/** A client whose next event is larger than the memory for one client (`mostUnsentBytes`). */
export interface LargeEventClient {
  accountId: string;
  /** Bytes that it has taken since it connected. */
  takenBytes(): number;
  /** Called when there is room for the event. The next `mayHold` of the client then succeeds. */
  goOn(): void;
  /** Closes the connection as slow, without the rest of the event. */
  cutOff(): void;
}

/**
 * Memory for events that are larger than the memory for one client. All clients of a process share it. While others wait for it, a client
 * must take 64 KiB a second. Otherwise it is closed as slow, and gets the event again when it reconnects.
 */
export interface LargeEvents {
  /** Whether the client may hold the event. If not, it must drop the event and wait for `goOn`. */
  mayHold(client: LargeEventClient, event: object, sizeBytes: number): boolean;
  /** Releases the client's large event, or ends its wait for memory. */
  letGo(client: LargeEventClient): void;
  stop(): void;
}

export interface LargeEventLimits {
  mostBytes: number;
  nowMs?: () => number;
  /** The length of a second. It is shorter in tests. */
  secondMs?: number;
}

const leastBytesASecond = 64 << 10;
const looksASecond = 4;

export function largeEvents({
  mostBytes,
  nowMs = () => performance.now(),
  secondMs = 1_000,
}: LargeEventLimits): LargeEvents {
  /**
   * The memory that is held, by event: clients that share an event share its memory. By client if the client has its own copy, or must
   * first read the event again.
   */
  const held = new Map<object, Held>();
  const holders = new Map<LargeEventClient, Holder>();
  const waiting = new Map<LargeEventClient, number>();
  const bytesOfAccount = new Map<string, number>();
  let bytesInAll = 0;
  let isGranting = false;
  let looks: ReturnType<typeof setInterval> | undefined;

  /**
   * Whether an account may hold this event too: if nothing is held, or if the account would then hold at most as much as is free now. So an
   * account gets about half of the memory that others leave, and there is always room for one more account.
   */
  function fits(accountId: string, sizeBytes: number): boolean {
    return bytesInAll === 0 || (bytesOfAccount.get(accountId) ?? 0) + sizeBytes <= mostBytes - bytesInAll;
  }

  function add(accountId: string, bytes: number): void {
    bytesInAll += bytes;
    const ofAccount = (bytesOfAccount.get(accountId) ?? 0) + bytes;
    if (ofAccount === 0) bytesOfAccount.delete(accountId);
    else bytesOfAccount.set(accountId, ofAccount);
  }

  function hold(client: LargeEventClient, what: object, sizeBytes: number): void {
    const known = held.get(what);
    if (known === undefined) {
      held.set(what, { sizeBytes, clients: 1 });
      add(client.accountId, sizeBytes);
    } else {
      known.clients += 1;
    }
    holders.set(client, { what, sinceMs: nowMs(), takenBytes: client.takenBytes() });
  }

  function release(client: LargeEventClient): void {
    const holder = holders.get(client);
    const known = holder && held.get(holder.what);
    if (holder === undefined || known === undefined) return;
    holders.delete(client);
    known.clients -= 1;
    if (known.clients > 0) return;
    held.delete(holder.what);
    add(client.accountId, -known.sizeBytes);
    grantSoon();
  }

  function waitFor(client: LargeEventClient, sizeBytes: number): void {
    waiting.set(client, sizeBytes);
    looks ??= setInterval(look, secondMs / looksASecond);
  }

  function look(): void {
    if (waiting.size === 0) {
      clearInterval(looks);
      looks = undefined;
      return;
    }
    for (const [client, { sinceMs, takenBytes }] of [...holders]) {
      const seconds = (nowMs() - sinceMs) / secondMs;
      if (seconds >= 1 && client.takenBytes() - takenBytes < seconds * leastBytesASecond) client.cutOff();
    }
    grantSoon();
  }

  /**
   * Grants memory to waiting clients, in a microtask, because `goOn` of a client may release memory at once, which calls this function
   * again.
   */
  function grantSoon(): void {
    if (isGranting || waiting.size === 0) return;
    isGranting = true;
    queueMicrotask(() => {
      isGranting = false;
      for (let next = nextWaiting(); next !== undefined && fits(...next.asked); next = nextWaiting()) {
        waiting.delete(next.client);
        hold(next.client, next.client, next.asked[1]);
        next.client.goOn();
      }
    });
  }

  /**
   * The next client to get memory: of the account that holds least, the one that began to wait last. Clients that have waited long were
   * mostly slow before, and a fast client must not wait for them.
   */
  function nextWaiting(): { client: LargeEventClient; asked: [string, number] } | undefined {
    let next: LargeEventClient | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const client of waiting.keys()) {
      const ofAccount = bytesOfAccount.get(client.accountId) ?? 0;
      if (ofAccount > least) continue;
      least = ofAccount;
      next = client;
    }
    return next && { client: next, asked: [next.accountId, waiting.get(next) ?? 0] };
  }

  return {
    mayHold(client, event, sizeBytes) {
      if (holders.has(client)) return true;
      if (!held.has(event) && !fits(client.accountId, sizeBytes)) {
        waitFor(client, sizeBytes);
        return false;
      }
      hold(client, event, sizeBytes);
      return true;
    },
    letGo(client) {
      waiting.delete(client);
      release(client);
    },
    stop: () => clearInterval(looks),
  };
}

interface Held {
  sizeBytes: number;
  clients: number;
}

interface Holder {
  what: object;
  sinceMs: number;
  takenBytes: number;
}
