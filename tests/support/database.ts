import { administering, databaseUrl } from "./administering.ts";
import { hasPostgres, startPostgres } from "./postgres.ts";

/** Whether the databases of this run are partitioned. They must be on Postgres. */
export const isPartitionedHere = process.env.TEST_PARTITIONED === "1";

export interface EmptyDatabase {
  url: string;
  drop(): Promise<void>;
}

/** An empty database on the server of TEST_DATABASE_URL, or on a server of its own. */
export async function emptyDatabase(): Promise<EmptyDatabase> {
  if (process.env.TEST_DATABASE_URL) return makeDatabase(process.env.TEST_DATABASE_URL);
  return databaseApart();
}

/**
 * An empty database on a server of its own, if this machine has one, for tests that hold a transaction open for seconds: the
 * event log hides events newer than the oldest transaction of the whole server.
 */
export async function databaseApart(): Promise<EmptyDatabase> {
  if (!hasPostgres && process.env.TEST_DATABASE_URL) return makeDatabase(process.env.TEST_DATABASE_URL);
  const server = await startPostgres();
  await server.ask("create database ibx");
  return { url: server.url("ibx"), drop: server.remove };
}

/** The settings of a service on a database. If the run has a pooler (`scripts/with-pooler.ts`), databases of its server are behind it. */
export function settingsFor(databaseUrl: string): Record<string, string> {
  const [direct, server, pooled] = [databaseUrl, process.env.TEST_DATABASE_URL, process.env.TEST_POOLER_URL].map(
    (url) => (url ? new URL(url) : undefined),
  );
  if (!(direct && server && pooled) || direct.host !== server.host || direct.search !== server.search) {
    return { DATABASE_URL: databaseUrl };
  }
  pooled.pathname = direct.pathname;
  return { DATABASE_URL: pooled.href, DATABASE_POOLED: "1", DATABASE_DIRECT_URL: databaseUrl };
}

/** Makes an empty database with a random name on a server, so that test files may run in parallel. */
export function makeDatabase(server: string): Promise<EmptyDatabase> {
  return copyOf("template1", server);
}

/**
 * Makes a database for a service on the server of TEST_DATABASE_URL. It has the schema if the run has a database to copy
 * (`scripts/with-postgres.ts`), because a copy takes less time than a migration. Otherwise it is empty. With TEST_PARTITIONED it has the
 * schema with partitions.
 */
export async function makeServiceDatabase(server: string): Promise<EmptyDatabase> {
  if (!isPartitionedHere) return copyOf(process.env.TEST_DATABASE_TEMPLATE ?? "template1", server);
  const { partitionedTemplate } = await import("./partitioned.ts");
  return copyOf(await partitionedTemplate(server), server);
}

async function copyOf(template: string, server: string): Promise<EmptyDatabase> {
  const name = `ibx_${crypto.randomUUID().replaceAll("-", "")}`;
  await administer(server, `create database ${name} template ${template} strategy file_copy`);
  return {
    url: databaseUrl(server, name),
    drop: () => administer(server, `drop database if exists ${name} with (force)`),
  };
}

async function administer(server: string, statement: string): Promise<void> {
  await administering(server, (connection) => connection.script(statement));
}
