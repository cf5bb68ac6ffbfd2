import type { Connection } from "./connection.ts";

/**
 * Keeps connections for their next request, each for at most the time that its last answer allowed. A connection that
 * the receiver closes is removed at once.
 */
export interface IdleConnections {
  /** Takes a connection kept under one of these keys, tried in order. */
  takeAny(keys: readonly string[]): { connection: Connection; key: string } | undefined;
  put(key: string, connection: Connection, idleMs: number): void;
  close(): void;
}

interface Idle {
  connection: Connection;
  untilMs: number;
}

export function idleConnections(maxIdle: number): IdleConnections {
  const idle = new Map<string, Idle[]>();
  const known = new WeakSet<Connection>();
  let count = 0;
  let closed = false;
  let sweeper: ReturnType<typeof setInterval> | undefined;

  function drop(key: string, gone: (one: Idle) => boolean): Idle[] {
    const waiting = idle.get(key) ?? [];
    const stays = waiting.filter((one) => !gone(one));
    count -= waiting.length - stays.length;
    if (stays.length > 0) idle.set(key, stays);
    else idle.delete(key);
    return waiting.filter(gone);
  }

  function sweep(): void {
    const nowMs = performance.now();
    for (const key of [...idle.keys()]) {
      for (const { connection } of drop(key, ({ untilMs }) => untilMs <= nowMs)) connection.destroy();
    }
    if (count === 0) {
      clearInterval(sweeper);
      sweeper = undefined;
    }
  }

  function take(key: string): Connection | undefined {
    const waiting = idle.get(key);
    // Takes the connection that was used last: it is the most likely to be open, and the others can reach their limit and close.
    for (let one = waiting?.pop(); one; one = waiting?.pop()) {
      count -= 1;
      if (waiting?.length === 0) idle.delete(key);
      if (one.connection.isOpen() && one.untilMs > performance.now()) return one.connection;
      one.connection.destroy();
    }
    return undefined;
  }

  return {
    takeAny(keys) {
      for (const key of keys) {
        const connection = take(key);
        if (connection !== undefined) return { connection, key };
      }
      return undefined;
    },
    put(key, connection, idleMs) {
      if (closed || count >= maxIdle || !connection.isOpen()) return connection.destroy();
      const waiting = idle.get(key);
      const one = { connection, untilMs: performance.now() + idleMs };
      if (waiting) waiting.push(one);
      else idle.set(key, [one]);
      count += 1;
      if (!known.has(connection)) {
        known.add(connection);
        connection.onClose(() => drop(key, (other) => other.connection === connection));
      }
      sweeper ??= setInterval(sweep, 1000);
    },
    close() {
      closed = true;
      for (const key of [...idle.keys()]) for (const { connection } of drop(key, () => true)) connection.destroy();
      clearInterval(sweeper);
    },
  };
}
