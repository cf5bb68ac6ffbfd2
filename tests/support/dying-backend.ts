/**
 * Runs a statement of a transaction after its backend has died, with the driver alone: `bun dying-backend.ts URL`.
 * As it comes, the driver throws from a timer, which ends the process and which nobody can catch.
 */
import postgres from "postgres";

const url = new URL(process.argv[2] ?? "");
const closed = Promise.withResolvers<void>();
const driver = postgres({
  path: `${url.searchParams.get("host")}/.s.PGSQL.5432`,
  user: url.username,
  database: url.pathname.slice(1),
  max: 1,
  onclose: () => closed.resolve(),
});
const outcome = await driver
  .begin(async (tx) => {
    await tx`select pg_terminate_backend(pg_backend_pid())`.catch(() => undefined);
    await closed.promise;
    await tx`select 1`;
  })
  .catch((error) => error.code);
// The timer runs before this.
await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
console.log(outcome);
process.exit(0);
