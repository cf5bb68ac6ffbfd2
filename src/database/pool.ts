import { setTimeout as sleep } from "node:timers/promises";
import { asStoreError, DatabaseUnavailable, leavesConnectionWhole } from "./unavailable.ts";
import type { WireValue } from "./wire.ts";

/** One session with an engine, which answers in the order of asking. Once it is not open it never is again. */
export interface Connection {
  readonly isOpen: boolean;
  /** Whether it has answered before, so that it is there and not yet to be made. */
  readonly hasAnswered: boolean;
  /** Answers the rows, as objects. */
  run(text: string, values: WireValue[]): Promise<object[]>;
  /** Runs statements without parameters, several if need be; gives the command tag of the last. */
  script(text: string): Promise<string>;
  /** Ends it at once: what it is doing fails, and the server rolls back. */
  sever(): void;
  close(): Promise<void>;
}

/** Where statements can be run: a pool, or a transaction on one of its connections. */
export interface Runner {
  /** Answers the rows, as objects. */
  run(text: string, values: WireValue[]): Promise<object[]>;
  script(text: string): Promise<string>;
  transaction<T>(work: (runner: Runner) => Promise<T>): Promise<T>;
}

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

export interface Pool extends Runner {
  usage(): PoolUsage;
  /** Lets what is under way end, for a while, and nothing begin. */
  close(): Promise<void>;
}

/** How much of a pool is in use now. */
export interface PoolUsage {
  /** The most connections that it opens. */
  size: number;
  taken: number;
  /** Callers that wait for a connection. */
  waiting: number;
}

/**
 * A pool of connections. A transaction has one to itself. A single statement takes a free one too, but when
 * there is none and nobody waits, it shares one with a few others, sent together and answered in order.
 *
 * The driver's own pool is not used: when a connection dies it runs what was waiting there on a *new* one, outside the
 * transaction that it belonged to, and what waits in it has no deadline. Here a connection that dies is thrown
 * away, and nothing that was meant for it goes anywhere else.
 */
export function openPool({ size, connect, acquireMs, lifetimeMs, sharedBy = 1 }: PoolOptions): Pool {
  const idle: Lease[] = [];
  const shared = new Set<Lease>();
  const waiting: Waiter[] = [];
  let taken = 0;
  let made = 0;
  let closed = false;
  const drained = Promise.withResolvers<void>();

  function acquire(alone: boolean): Lease | Promise<Lease> {
    if (closed) throw new DatabaseUnavailable("it is being closed");
    const free = takeIdle() ?? (taken < size ? open() : undefined);
    if (free) return lend(free, alone);
    const companion = alone || waiting.length > 0 ? undefined : leastShared();
    if (companion) {
      companion.users++;
      return companion;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(new DatabaseUnavailable(`no connection became free in ${acquireMs} ms`));
      }, acquireMs);
      const waiter = { resolve, reject, timer, alone };
      waiting.push(waiter);
    });
  }

  function lend(lease: Lease, alone: boolean): Lease {
    taken++;
    lease.users = 1;
    if (!alone) shared.add(lease);
    return lease;
  }

  /** The last one back is the first one out: its caches are warm, and what is not needed rests. */
  function takeIdle(): Lease | undefined {
    for (let lease = idle.pop(); lease; lease = idle.pop()) {
      if (lease.connection.isOpen) return lease;
    }
    return undefined;
  }

  function leastShared(): Lease | undefined {
    let least: Lease | undefined;
    for (const lease of shared) {
      if (lease.users < (least?.users ?? sharedBy) && lease.connection.isOpen) least = lease;
    }
    return least;
  }

  /** Lifetimes are spread over a third, so that connections made together don't end together. */
  function open(): Lease {
    const lifetime = lifetimeMs * (1 - (made++ % 8) / 24);
    return { connection: connect(), users: 0, retiresAt: performance.now() + lifetime };
  }

  function release(lease: Lease): void {
    lease.users--;
    const stays = lease.connection.isOpen && !closed && performance.now() < lease.retiresAt;
    if (lease.users > 0) {
      if (stays) admitCompanions(lease);
      return;
    }
    taken--;
    if (taken === 0 && closed) drained.resolve();
    shared.delete(lease);
    if (!stays) void lease.connection.close().catch(ignore);
    const next = nextWaiting();
    if (next) {
      const given = lend(stays ? lease : open(), next.alone);
      next.resolve(given);
      if (!next.alone) admitCompanions(given);
    } else if (stays) {
      idle.push(lease);
    }
  }

  /** Whoever waits first goes first: statements don't overtake a transaction, which needs a connection to itself. */
  function admitCompanions(lease: Lease): void {
    while (lease.users < sharedBy && waiting[0]?.alone === false) {
      lease.users++;
      nextWaiting()?.resolve(lease);
    }
  }

  function nextWaiting(): Waiter | undefined {
    const next = waiting.shift();
    clearTimeout(next?.timer);
    return next;
  }

  async function withConnection<T>(alone: boolean, work: (connection: Connection) => Promise<T>): Promise<T> {
    const lease = await acquire(alone);
    try {
      return await work(lease.connection);
    } finally {
      release(lease);
    }
  }

  return {
    run: (text, values) =>
      withConnection(false, (connection) => attempt(connection, () => connection.run(text, values))),
    script: (text) => withConnection(true, (connection) => attempt(connection, () => connection.script(text))),
    transaction: (work) => withConnection(true, (connection) => inTransaction(connection, work)),
    usage: () => ({ size, taken, waiting: waiting.length }),
    async close() {
      closed = true;
      for (const { reject, timer } of waiting.splice(0)) {
        clearTimeout(timer);
        reject(new DatabaseUnavailable("it is being closed"));
      }
      await Promise.all(idle.splice(0).map(({ connection }) => connection.close().catch(ignore)));
      if (taken > 0) await Promise.race([drained.promise, sleep(longestDrainMs, undefined, { ref: false })]);
    },
  };
}

/**
 * A transaction on one connection. Its runner refuses to run anything once the transaction is over, however it ended:
 * a statement of a dead transaction must not run outside it. Its statements go one after the other,
 * also when they are asked for at once.
 */
async function inTransaction<T>(connection: Connection, work: (runner: Runner) => Promise<T>): Promise<T> {
  let over = false;
  let savepoints = 0;
  const begun = attempt(connection, () => connection.script("begin"));
  begun.catch(ignore);
  // The first statement follows on its heels and saves a round trip; should `begin` not arrive, nor does the statement.
  let tail: Promise<unknown> = connection.hasAnswered ? Promise.resolve() : begun;

  function next<R>(start: () => Promise<R>): Promise<R> {
    const mine = tail.then(() => {
      if (over) throw new Error("Cannot run a statement: its transaction is over");
      return attempt(connection, start);
    });
    tail = mine.catch(ignore);
    return mine;
  }

  const runner: Runner = {
    run: (text, values) => next(() => connection.run(text, values)),
    script: (text) => next(() => connection.script(text)),
    async transaction(inner) {
      const name = `nested_${++savepoints}`;
      await runner.script(`savepoint ${name}`);
      try {
        const result = await inner(runner);
        await runner.script(`release savepoint ${name}`);
        return result;
      } catch (error) {
        if (connection.isOpen) await runner.script(`rollback to savepoint ${name}`);
        throw error;
      }
    },
  };

  await tail;
  try {
    const result = await work(runner);
    await begun;
    await tail;
    over = true;
    const tag = await attempt(connection, () => connection.script("commit"));
    // A failed transaction answers COMMIT with ROLLBACK and no error: the work must not believe that it was kept.
    if (tag !== "COMMIT") throw new Error("Cannot commit: a statement of the transaction had failed");
    return result;
  } catch (error) {
    over = true;
    if (connection.isOpen)
      await attempt(connection, () => connection.script("rollback")).catch(() => connection.sever());
    throw error;
  }
}

/** Runs one step on a connection, severs it if the step left it in doubt, and says what went wrong in the store's words. */
async function attempt<T>(connection: Connection, step: () => Promise<T>): Promise<T> {
  try {
    if (!connection.isOpen) throw new DatabaseUnavailable("the connection was lost");
    return await step();
  } catch (error) {
    if (!leavesConnectionWhole(error)) connection.sever();
    throw asStoreError(error);
  }
}

const longestDrainMs = 5_000;

interface Lease {
  connection: Connection;
  users: number;
  retiresAt: number;
}

interface Waiter {
  resolve: (lease: Lease) => void;
  reject: (error: Error) => void;
  timer: ReturnType<typeof setTimeout>;
  alone: boolean;
}

function ignore(): void {}
