import { setTimeout as sleep } from "node:timers/promises";
import { waitingLine } from "../primitives/waiting-line.ts";
import type { Connection } from "./runner.ts";
import { DatabaseSlow, DatabaseUnavailable } from "./unavailable.ts";

export interface PoolOptions {
  size: number;
  connect: () => Connection;
  /** How long a caller waits for a free connection. */
  acquireMs: number;
  /** The age of a connection after which it is closed when it is released. */
  lifetimeMs: number;
  /** How many single statements may share a connection when all connections are taken. */
  sharedBy?: number;
}

/** How many connections of a pool are in use now. */
export interface PoolUsage {
  /** The most connections that it opens. */
  size: number;
  taken: number;
  /** The number of callers that wait for a connection. */
  waiting: number;
}

/** The connections of a pool. Each caller of `acquire` must release its connection, even if the connection is lost. */
export interface PooledConnections {
  /** Returns a connection, or a promise if the caller has to wait for one. If `alone` is true, no other caller shares it. */
  acquire(alone: boolean): Pooled | Promise<Pooled>;
  release(pooled: Pooled): void;
  usage(): PoolUsage;
  /** Starts nothing more, and waits a while for running statements. */
  close(): Promise<void>;
}

export interface Pooled {
  connection: Connection;
  users: number;
  retiresAt: number;
}

const longestDrainMs = 5_000;

/**
 * A transaction has a connection to itself. A single statement takes a free connection too. If there is none and no other caller waits, it
 * shares a connection with up to `sharedBy - 1` other single statements, which are sent without waiting and answered in order.
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

  /** Takes the idle connection that was released last, because its caches are warm. Undefined if none is idle. */
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

  /** Opens a connection. Lifetimes differ by up to a third, so that connections that were made together do not end together. */
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

  /** Lets the first waiting statements share this connection. It stops at a transaction, so that statements do not overtake it. */
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
