/**
 * Runs tests through a PgBouncer in transaction mode, before the Postgres of TEST_DATABASE_URL:
 * `bun scripts/with-postgres.ts bun scripts/with-pooler.ts bun test tests/receiving`. Only worlds (`tests/support/world.ts`) use it.
 */
import { asInDocs, hasPgBouncer, startPgBouncer } from "../tests/support/pgbouncer.ts";
import { leaveNothing } from "./leave-nothing.ts";

const server = process.env.TEST_DATABASE_URL;
if (!server) {
  console.error("Cannot start PgBouncer: TEST_DATABASE_URL is not set");
  process.exit(1);
}
// The fixture says that the program is not here.
if (!hasPgBouncer) process.exit(0);

leaveNothing();
const bouncer = await startPgBouncer(server, asInDocs);
try {
  const child = Bun.spawn(process.argv.slice(2), {
    env: { ...process.env, TEST_POOLER_URL: bouncer.url },
    stdio: ["inherit", "inherit", "inherit"],
  });
  process.exitCode = await child.exited;
} finally {
  await bouncer.stop();
}
