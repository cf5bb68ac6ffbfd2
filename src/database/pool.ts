import { type PoolOptions, type PoolUsage, pooledConnections } from "./pooled-connections.ts";
import { attempt, type Connection, inTransaction, type Runner } from "./runner.ts";

export interface Pool extends Runner {
  usage(): PoolUsage;
  /** Lets what is under way end, for a while, and nothing begin. */
  close(): Promise<void>;
}

/**
 * A pool of connections, of which a transaction has one to itself.
 *
 * The driver's own pool is not used: when a connection dies it runs what was waiting there on a *new* one, outside the
 * transaction that it belonged to, and what waits in it has no deadline. Here a connection that dies is thrown
 * away, and nothing that was meant for it goes anywhere else.
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
