import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { type Database, type DatabaseOptions, openDatabase } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";

export interface TestDatabase {
  db: Database;
  /** What to open it with once more, as another process would. */
  options: DatabaseOptions;
  remove(): Promise<void>;
}

/**
 * A migrated database of the test's own: a fresh one on the server that TEST_DATABASE_URL names,
 * else an embedded one in a temporary directory.
 */
export async function openTestDatabase(extra: Partial<DatabaseOptions> = {}): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-"));
  const server = process.env.TEST_DATABASE_URL;
  const made = server ? await makeDatabase(server) : undefined;
  const options: DatabaseOptions = { dataDir, url: made?.url, connections: { api: 6, mail: 3, work: 3 }, ...extra };
  const db = await openDatabase(options);
  await migrate(db);
  return {
    db,
    options,
    async remove() {
      await db.close();
      await made?.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Makes an empty database on a server; its name is random, so that test files may run side by side. */
export async function makeDatabase(server: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `ibx_${crypto.randomUUID().replaceAll("-", "")}`;
  await administer(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => administer(server, `drop database ${name} with (force)`) };
}

async function administer(server: string, statement: string): Promise<void> {
  const client = postgres(server, { max: 1, onnotice: () => undefined });
  try {
    await client.unsafe(statement);
  } finally {
    await client.end({ timeout: 1 });
  }
}
