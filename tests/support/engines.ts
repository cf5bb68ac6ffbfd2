import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Database, type DatabaseOptions, openDatabase } from "../../src/database/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { type EmptyDatabase, emptyDatabase, makeServiceDatabase } from "./database.ts";
import { hasPostgres } from "./postgres.ts";

/** An empty database on one engine, for tests that must pass on both. */
export interface EngineUnderTest {
  db: Database;
  options: DatabaseOptions;
  remove(): Promise<void>;
}

export type EngineName = "embedded" | "postgres";

/** The engine of this run, as TEST_DATABASE_URL says; each engine has its own run. */
export function enginesHere(): EngineName[] {
  if (process.env.TEST_DATABASE_URL) return ["postgres"];
  console.log("Skipped on Postgres: TEST_DATABASE_URL is not set");
  return ["embedded"];
}

/** Whether this run may start Postgres servers of its own, to stop and to break. */
export const breaksPostgres = hasPostgres && process.env.TEST_DATABASE_URL !== undefined;

export async function openEngine(
  name: EngineName,
  extra: Partial<DatabaseOptions> = {},
  make: () => Promise<EmptyDatabase> = emptyDatabase,
): Promise<EngineUnderTest> {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-"));
  const made = name === "postgres" ? await make() : undefined;
  const options = { dataDir, url: made?.url, ...extra };
  const db = await openDatabase(options);
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

/** Opens an engine on an empty database with the schema. */
export async function openMigrated(name: EngineName): Promise<EngineUnderTest> {
  const server = process.env.TEST_DATABASE_URL;
  const under = await openEngine(name, {}, server ? () => makeServiceDatabase(server) : emptyDatabase);
  await migrate(under.db);
  return under;
}
