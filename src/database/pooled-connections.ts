import { setTimeout as sleep } from "node:timers/promises";
import { waitingLine } from "../primitives/waiting-line.ts";
import type { Connection } from "./runner.ts";
import { DatabaseSlow, DatabaseUnavailable } from "./unavailable.ts";

export interface PoolOptions {
  size: number;
  connect: () => Connection;
  /** How long a caller waits for a free connection. */
  acquireMs: number;
  /** A connection that is older is replaced when it comes back. */
  lifetimeMs: number;
  /** How many single statements may be on one connection at once when all are taken. */
  sharedBy?: number;
}

/** How much of a pool is in use now. */
export interface PoolUsage {
  /** The most connections that it opens. */
  size: number;
  taken: number;
  /** Callers that wait for a connection. */
  waiting: number;
}

/** Who has which connection of a pool. Whoever was lent one gives it back, whatever became of it. */
export interface PooledConnections {
  /** One that is free, alone or shared; where there is none, the promise of one. */
  acquire(alone: boolean): Pooled | Promise<Pooled>;
  release(pooled: Pooled): void;
  usage(): PoolUsage;
  /** Lets what is under way end, for a while, and nothing begin. */
  close(): Promise<void>;
}

export interface Pooled {
  connection: Connection;
  users: number;
  retiresAt: number;
}

const longestDrainMs = 5_000;

/**
 * A transaction has a connection to itself. A single statement takes a free one too, but when there is none and nobody waits,
 * it shares one with a few others, sent together and answered in order.
 */
export function pooledConnections(options: PoolOptions): PooledConnections {
  const { size, connect, acquireMs, lifetimeMs, sharedBy = 1 } = options;
  const idle: Pooled[] = [];
  const shared = new Set<Pooled>();
  const line = waitingLine<Pooled, { alone: boolean }>({
    waitMs: acquireMs,
    late: () => new DatabaseSlow(`no connection became free in ${acquireMs} ms`),
  });
  let taken = 0;
  let made = 0;
  let closed = false;
  const drained = Promise.withResolvers<void>();

  function acquire(alone: boolean): Pooled | Promise<Pooled> {
    if (closed) throw new DatabaseUnavailable("it is being closed");
    const free = takeIdle() ?? (taken < size ? open() : undefined);
    if (free) return lend(free, alone);
    const companion = alone || line.length > 0 ? undefined : leastShared();
    if (companion === undefined) return line.join({ wish: { alone } });
    companion.users++;
    return companion;
  }

  function lend(pooled: Pooled, alone: boolean): Pooled {
    taken++;
    pooled.users = 1;
    if (!alone) shared.add(pooled);
    return pooled;
  }

  /** The last one back is the first one out: its caches are warm, and what is not needed rests. */
  function takeIdle(): Pooled | undefined {
    for (let pooled = idle.pop(); pooled; pooled = idle.pop()) {
      if (pooled.connection.isOpen) return pooled;
    }
    return undefined;
  }

  function leastShared(): Pooled | undefined {
    let least: Pooled | undefined;
    for (const pooled of shared) {
      if (pooled.users < (least?.users ?? sharedBy) && pooled.connection.isOpen) least = pooled;
    }
    return least;
  }

  /** Lifetimes are spread over a third, so that connections made together don't end together. */
  function open(): Pooled {
    const lifetime = lifetimeMs * (1 - (made++ % 8) / 24);
    return { connection: connect(), users: 0, retiresAt: performance.now() + lifetime };
  }

  function release(pooled: Pooled): void {
    pooled.users--;
    const stays = pooled.connection.isOpen && !closed && performance.now() < pooled.retiresAt;
    if (pooled.users > 0) {
      if (stays) admitCompanions(pooled);
      return;
    }
    taken--;
    if (taken === 0 && closed) drained.resolve();
    shared.delete(pooled);
    if (!stays) void pooled.connection.close().catch(ignore);
    const next = line.firstWish;
    if (next) {
      const given = lend(stays ? pooled : open(), next.alone);
      line.serveFirst(given);
      if (!next.alone) admitCompanions(given);
    } else if (stays) {
      idle.push(pooled);
    }
  }

  /** Whoever waits first goes first: statements don't overtake a transaction, which needs a connection to itself. */
  function admitCompanions(pooled: Pooled): void {
    while (pooled.users < sharedBy && line.firstWish?.alone === false) {
      pooled.users++;
      line.serveFirst(pooled);
    }
  }

  async function close(): Promise<void> {
    closed = true;
    line.rejectAll(new DatabaseUnavailable("it is being closed"));
    await Promise.all(idle.splice(0).map(({ connection }) => connection.close().catch(ignore)));
    if (taken > 0) await Promise.race([drained.promise, sleep(longestDrainMs, undefined, { ref: false })]);
  }

  return { acquire, release, usage: () => ({ size, taken, waiting: line.length }), close };
}

function ignore(): void {}
