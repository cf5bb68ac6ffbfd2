import { connectPostgres } from "../../src/database/postgres.ts";
import type { Connection } from "../../src/database/runner.ts";

/** Runs statements on one connection to a server, without time-outs. */
export async function administering<T>(server: string, work: (connection: Connection) => Promise<T>): Promise<T> {
  const patient = { connectMs: 5_000, deadlineMs: 0, statementMs: 0, lockMs: 0, idleInTransactionMs: 0 };
  const connection = connectPostgres({ url: server, ...patient });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** The URL of a database on a server. */
export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
