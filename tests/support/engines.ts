import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, type DatabaseOptions, openDatabase } from "../../src/store/db.ts";
import { makeDatabase } from "./database.ts";
import { hasPostgres, startPostgres } from "./postgres.ts";

/** An empty database on one engine, for tests of what must be the same on both. */
export interface EngineUnderTest {
  db: Database;
  options: DatabaseOptions;
  remove(): Promise<void>;
}

export type EngineName = "embedded" | "postgres";

/** The engines that this machine can try; says so when it is only one. */
export function enginesHere(): EngineName[] {
  if (process.env.TEST_DATABASE_URL || hasPostgres) return ["embedded", "postgres"];
  console.log("Skipped on Postgres: TEST_DATABASE_URL is not set, and there is no server to start on this machine");
  return ["embedded"];
}

export async function openEngine(name: EngineName, extra: Partial<DatabaseOptions> = {}): Promise<EngineUnderTest> {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-"));
  const made = name === "postgres" ? await emptyDatabase() : undefined;
  const options = { dataDir, url: made?.url, ...extra };
  const db = await openDatabase(options);
  return {
    db,
    options,
    async remove() {
      await db.close();
      await made?.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function emptyDatabase(): Promise<{ url: string; remove(): Promise<void> }> {
  if (process.env.TEST_DATABASE_URL) {
    const { url, drop } = await makeDatabase(process.env.TEST_DATABASE_URL);
    return { url, remove: drop };
  }
  const server = await startPostgres();
  await server.ask("create database ibx");
  return { url: server.url("ibx"), remove: server.remove };
}
