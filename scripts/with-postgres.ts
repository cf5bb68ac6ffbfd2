/**
 * Runs a command with TEST_DATABASE_URL naming a Postgres server that lives as long as the command does:
 * `bun scripts/with-postgres.ts bun test --parallel`. Where the variable is set already, that server is used.
 */
import { rmSync } from "node:fs";
import { hasPostgres, type PostgresServer, startPostgres } from "../tests/support/postgres.ts";
import { quickDirectory } from "./quick-directory.ts";

const command = process.argv.slice(2);
const given = process.env.TEST_DATABASE_URL;
if (!given && !hasPostgres) {
  console.error(
    "Cannot start Postgres: TEST_DATABASE_URL is not set, and there are no programs under /usr/lib/postgresql",
  );
  process.exit(1);
}

const directory = quickDirectory("ibx-postgres-");
let server: PostgresServer | undefined;
try {
  if (!given) server = await startPostgres(["max_connections=400"], directory);
  const url = given ?? server?.url("postgres");
  const child = Bun.spawn(command, {
    env: { ...process.env, TEST_DATABASE_URL: url },
    stdio: ["inherit", "inherit", "inherit"],
  });
  // So that nothing stays in memory behind a command that was interrupted.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  process.exitCode = await child.exited;
} finally {
  await server?.remove();
  rmSync(directory, { recursive: true });
}
