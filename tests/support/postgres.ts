import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";

/** A Postgres server of a test's own: a real one, on a unix socket in a temporary directory. */
export interface PostgresServer {
  /** The address of a database on it. */
  url(database: string): string;
  /** Runs statements on a database as the server's owner. */
  ask(statement: string, database?: string): Promise<Record<string, unknown>[]>;
  /** Runs one of the server's own programs, such as `pg_dump`, to its end. */
  run(program: string, ...words: string[]): Promise<void>;
  start(): Promise<void>;
  /** Restarts it as the standby of no primary, which answers and takes no writes. */
  becomeStandby(): Promise<void>;
  /** Stops it like a crash: nothing is finished, clients are cut off. */
  stop(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Stops it and deletes its files. */
  remove(): Promise<void>;
}

export const binaries = newestBinaries();

/** Whether this machine has the server's programs. */
export const hasPostgres = binaries !== undefined;

export async function startPostgres(settings: readonly string[] = [], parent = tmpdir()): Promise<PostgresServer> {
  if (!binaries) throw new Error("Cannot start Postgres: no programs under /usr/lib/postgresql");
  const directory = mkdtempSync(join(parent, "ibx-pg-"));
  const data = join(directory, "data");
  const account = unprivilegedAccount();
  if (account) chownSync(directory, account.uid, account.gid);
  chmodSync(directory, 0o711);
  const initdb = spawn(account, directory, [
    join(binaries, "initdb"),
    "--pgdata",
    data,
    "--username=inboxd",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--no-sync",
  ]);
  if ((await initdb.exited) !== 0) throw new Error(`Cannot run initdb: ${await new Response(initdb.stderr).text()}`);

  const url = (database: string) => `postgres://inboxd@localhost/${database}?host=${directory}`;
  let server = await startServer();

  async function startServer() {
    const child = spawn(account, directory, [
      join(binaries ?? "", "postgres"),
      "-D",
      data,
      "-k",
      directory,
      "-c",
      "listen_addresses=",
      ...["max_connections=120", "shared_buffers=32MB", "fsync=off", ...settings].flatMap((setting) => ["-c", setting]),
    ]);
    await untilItAnswers();
    return child;
  }

  async function untilItAnswers(): Promise<void> {
    for (let attempt = 0; attempt < 500; attempt++) {
      if (
        await ask("select 1").then(
          () => true,
          () => false,
        )
      )
        return;
      await Bun.sleep(20);
    }
    throw new Error("Cannot start Postgres: it does not answer");
  }

  async function ask(statement: string, database = "postgres"): Promise<Record<string, unknown>[]> {
    const path = join(directory, ".s.PGSQL.5432");
    const client = postgres({ path, user: "inboxd", database, max: 1, connect_timeout: 2, onnotice: () => undefined });
    try {
      return [...(await client.unsafe(statement))];
    } finally {
      await client.end({ timeout: 1 });
    }
  }

  function signalAll(signal: "SIGSTOP" | "SIGCONT"): void {
    for (const pid of [server.pid, ...childrenOf(server.pid)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // The backend may have ended already.
      }
    }
  }

  const running: PostgresServer = {
    url,
    ask,
    async run(program, ...words) {
      const child = Bun.spawn([join(binaries, program), ...words], {
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      });
      const said = await new Response(child.stderr).text();
      if ((await child.exited) !== 0) throw new Error(`Cannot run ${program}: ${said}`);
    },
    async start() {
      server = await startServer();
    },
    async stop() {
      server.kill("SIGQUIT");
      await server.exited;
    },
    async becomeStandby() {
      await running.stop();
      writeFileSync(join(data, "standby.signal"), "");
      server = await startServer();
    },
    freeze: () => signalAll("SIGSTOP"),
    thaw: () => signalAll("SIGCONT"),
    async remove() {
      if (server.exitCode === null && server.signalCode === null) {
        signalAll("SIGCONT");
        await running.stop();
      }
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return running;
}

/** Postgres refuses to run as root, so it runs as a user without files. */
export function unprivilegedAccount(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const nobody = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((line) => line.startsWith("nobody:"));
  const [, , uid, gid] = nobody?.split(":") ?? [];
  return { uid: Number(uid ?? 65534), gid: Number(gid ?? 65534) };
}

function spawn(account: { uid: number; gid: number } | undefined, cwd: string, command: string[]) {
  const prefix = account ? ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"] : [];
  return Bun.spawn([...prefix, ...command], { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
}

function childrenOf(pid: number): number[] {
  const found = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return found === "" ? [] : found.split(" ").map(Number);
}

function newestBinaries(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const versions = readdirSync(root)
    .map(Number)
    .filter((version) => version >= 15);
  return versions.length === 0 ? undefined : join(root, String(Math.max(...versions)), "bin");
}
