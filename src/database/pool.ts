import { type PoolOptions, type PoolUsage, pooledConnections } from "./pooled-connections.ts";
import { attempt, type Connection, inTransaction, type Runner } from "./runner.ts";

export interface Pool extends Runner {
  usage(): PoolUsage;
  /** Starts nothing more, and waits a while for running statements. */
  close(): Promise<void>;
}

/**
 * A pool of connections. A transaction has a connection to itself.
 *
 * The driver's own pool is not used. When a connection dies, that pool runs its waiting statements on a *new* connection, outside of their
 * transaction, and waiting in it has no deadline. Here a dead connection is dropped with its waiting statements.
 */
export function openPool(options: PoolOptions): Pool {
  const { acquire, release, usage, close } = pooledConnections(options);

  async function withConnection<T>(alone: boolean, work: (connection: Connection) => Promise<T>): Promise<T> {
    const pooled = await acquire(alone);
    try {
      return await work(pooled.connection);
    } finally {
      release(pooled);
    }
  }

  return {
    run: (text, values) =>
      withConnection(false, (connection) => attempt(connection, () => connection.run(text, values))),
    script: (text) => withConnection(true, (connection) => attempt(connection, () => connection.script(text))),
    transaction: (work) => withConnection(true, (connection) => inTransaction(connection, work)),
    usage,
    close,
  };
}
