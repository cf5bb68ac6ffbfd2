/**
 * Runs a command with TEST_DATABASE_URL naming a Postgres server that lives as long as the command does:
 * `bun scripts/with-postgres.ts bun test --parallel`. Where the variable is set already, that server is used. TEST_DATABASE_TEMPLATE names
 * a database on it that has the schema, for tests to copy.
 */
import { openDatabase } from "../src/database/db.ts";
import { migrate } from "../src/store/migrate.ts";
import { type EmptyDatabase, makeDatabase } from "../tests/support/database.ts";
import { hasPostgres, type PostgresServer, startPostgres } from "../tests/support/postgres.ts";
import { leaveNothing } from "./leave-nothing.ts";
import { quickPlace } from "./quick-directory.ts";

const command = process.argv.slice(2);
const given = process.env.TEST_DATABASE_URL;
if (!given && !hasPostgres) {
  console.error(
    "Cannot start Postgres: TEST_DATABASE_URL is not set, and there are no programs under /usr/lib/postgresql",
  );
  process.exit(1);
}

const directory = leaveNothing(quickPlace());
let server: PostgresServer | undefined;
let template: EmptyDatabase | undefined;
try {
  if (!given) server = await startPostgres(["max_connections=400"], directory);
  const url = given ?? server?.url("postgres") ?? "";
  template = await makeDatabase(url);
  await writeSchema(template);
  const child = Bun.spawn(command, {
    env: { ...process.env, TEST_DATABASE_URL: url, TEST_DATABASE_TEMPLATE: new URL(template.url).pathname.slice(1) },
    stdio: ["inherit", "inherit", "inherit"],
  });
  process.exitCode = await child.exited;
} finally {
  if (given) await template?.drop();
  await server?.remove();
}

async function writeSchema({ url }: EmptyDatabase): Promise<void> {
  const db = await openDatabase({ url, dataDir: directory });
  await migrate(db).finally(db.close);
}
