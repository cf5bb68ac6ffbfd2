import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { untilAnswered } from "./until.ts";

/** A PgBouncer before a Postgres, on a unix socket in a temporary directory. */
export interface PgBouncer {
  url: string;
  stop(): Promise<void>;
}

const program = "/usr/sbin/pgbouncer";

/** Whether this machine has it. */
export const hasPgBouncer = existsSync(program);
if (!hasPgBouncer) console.log("Skipped: PgBouncer, since its program is not here");

/** The settings of a PgBouncer as docs/operations.md has them. */
export const asInDocs = ["pool_mode = transaction", "max_client_conn = 1000", "server_login_retry = 1"];

/** The statement of each new session in docs/operations.md. */
const connectQuery = "select pg_terminate_backend(pg_backend_pid()) where pg_is_in_recovery()";

/** `settings` are lines of its `[pgbouncer]` section. It serves all databases of the server, each by its name. */
export async function startPgBouncer(databaseUrl: string, settings: readonly string[]): Promise<PgBouncer> {
  const { pathname, searchParams, hostname, port, username, password } = new URL(databaseUrl);
  const directory = mkdtempSync(join(tmpdir(), "ibx-bouncer-"));
  const own = [
    "listen_addr =",
    "listen_port = 6432",
    `unix_socket_dir = ${directory}`,
    "auth_type = any",
    `logfile = ${directory}/log`,
    `pidfile = ${directory}/pid`,
  ];
  writeFileSync(
    join(directory, "pgbouncer.ini"),
    [
      "[databases]",
      `* = host=${searchParams.get("host") ?? hostname} port=${port || 5432} user=${username}${password && ` password=${password}`} connect_query='${connectQuery}'`,
      "[pgbouncer]",
      ...own,
      ...settings,
      "",
    ].join("\n"),
  );
  await Bun.$`chown -R nobody ${directory}`.quiet().nothrow();
  // It refuses to run as root.
  const account = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = Bun.spawn([program, "-q", ...account, join(directory, "pgbouncer.ini")], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  // Its socket exists a moment before it listens.
  const listens = () => isTaken(join(directory, ".s.PGSQL.6432"));
  await untilAnswered(async () => child.exitCode !== null || (await listens()) || undefined);
  return {
    url: `postgres://${username}@localhost:6432${pathname}?host=${directory}`,
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function isTaken(path: string): Promise<boolean> {
  return Bun.connect({ unix: path, socket: { open: (socket) => void socket.end(), data: () => undefined } }).then(
    () => true,
    () => false,
  );
}
