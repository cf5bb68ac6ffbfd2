import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leaveNothing } from "../../scripts/leave-nothing.ts";
import { type PostgresServer, startPostgres } from "../../tests/support/postgres.ts";

/** The database of a benchmark: a Postgres of its own, or the embedded one by DATABASE. */
export interface BenchDatabase {
  engine: "postgres" | "embedded";
  /** Undefined for the embedded one. */
  url: string | undefined;
  dataDir: string;
  /** The environment of a process that uses it. */
  environment: Record<"DATABASE_URL" | "DATA_DIR", string | undefined>;
  /** The server's process; the embedded one has none. */
  pid: number | undefined;
  server: PostgresServer | undefined;
  remove(): Promise<void>;
}

export const engine = process.env.DATABASE === "embedded" ? "embedded" : "postgres";

/** The suffix of a result's name. */
export const onEngine = engine === "embedded" ? ", embedded" : "";

export async function startDatabase(settings: readonly string[] = []): Promise<BenchDatabase> {
  leaveNothing();
  const server = engine === "postgres" ? await startFlushingPostgres(settings) : undefined;
  await server?.ask("create database bench");
  const url = server?.url("bench");
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-bench-"));
  return {
    engine,
    url,
    dataDir,
    environment: { DATABASE_URL: url, DATA_DIR: dataDir },
    pid: await pidOf(server),
    server,
    async remove() {
      await server?.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/**
 * The settings of the benchmarks' Postgres. The tests' server does not wait for the disk; a benchmark's must, like its peers.
 * The files of its log exist already, as on any server that has run for a while: making one takes 50 ms without commits.
 */
export async function startFlushingPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const server = await startPostgres(["fsync=on", "min_wal_size=1GB", ...settings]);
  await server.ask("select pg_logical_emit_message(false, 'bench', repeat('x', 16000000)) from generate_series(1, 60)");
  await server.ask("checkpoint");
  return server;
}

async function pidOf(server: PostgresServer | undefined): Promise<number | undefined> {
  const [row] = (await server?.ask("show data_directory")) ?? [];
  return row && Number(readFileSync(`${row.data_directory}/postmaster.pid`, "utf8").split("\n", 1)[0]);
}
