import { connectPostgres } from "../../src/store/postgres.ts";

/** Makes an empty database on a server; its name is random, so that test files may run side by side. */
export async function makeDatabase(server: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `ibx_${crypto.randomUUID().replaceAll("-", "")}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `drop database if exists ${name} with (force)`) };
}

async function administer(server: string, statement: string): Promise<void> {
  const patient = { connectMs: 5_000, deadlineMs: 0, statementMs: 0, lockMs: 0, idleInTransactionMs: 0 };
  const connection = connectPostgres({ url: server, ...patient });
  try {
    await connection.script(statement);
  } finally {
    await connection.close();
  }
}
