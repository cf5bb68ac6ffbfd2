import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { blocksOf, inWords } from "./documentation.ts";
import { binaries, unprivilegedAccount } from "./postgres.ts";
import { freePort } from "./server-in-front.ts";
import { untilSo } from "./until.ts";

/**
 * Two Postgres servers under Patroni with etcd, and a HAProxy that leads to the primary: the files of `deploy/failover/` with
 * other addresses, one etcd in place of three, and the role and the database of the chapter.
 */
export interface PatroniCluster {
  /** The address of a database for the role `inboxd`, through HAProxy. */
  url(database: string): string;
  /** Runs statements on the primary as its superuser. */
  ask(statement: string, database?: string): Promise<Record<string, unknown>[]>;
  /** Lets the standby become the primary, as for maintenance. */
  switchOver(): Promise<void>;
  /**
   * Kills the primary's Postgres and Patroni while the standby lacks its last commits, and starts them again when the standby has taken
   * over. Something must be writing meanwhile.
   */
  killPrimary(): Promise<void>;
  /** Resolves when there is a primary, and a standby that has every commit. */
  untilSynchronous(): Promise<void>;
  remove(): Promise<void>;
}

const programs = ["/usr/bin/patroni", "/usr/bin/etcd", "/usr/sbin/haproxy"];

/** Whether this machine has all of them. */
export const hasPatroni = binaries !== undefined && programs.every((program) => existsSync(program));

const read = (path: string) => readFileSync(join(import.meta.dir, "../..", path), "utf8");

/** One machine of the cluster. */
interface Member {
  name: string;
  postgresPort: number;
  restPort: number;
  dataDir: string;
  /** Starts its Patroni, which starts its Postgres. */
  start(): void;
  /** Kills both, as if the machine had lost its power. */
  kill(): void;
}

export async function startPatroni(): Promise<PatroniCluster> {
  await using cleanups = new AsyncDisposableStack();
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "ibx-patroni-")));
  cleanups.defer(() => rmSync(directory, { recursive: true, force: true }));
  const account = unprivilegedAccount();
  chmodSync(directory, 0o711);
  const children = new Set<Bun.Subprocess>();
  const members: Member[] = [];
  cleanups.defer(async () => {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all([...children].map(({ exited }) => exited));
    // Postgres is no child of Patroni, which it outlives. One that Patroni was just starting appears only now.
    await untilSo(() => {
      const postmasters = members.map(({ dataDir }) => postmasterOf(dataDir)).filter((pid) => pid !== undefined);
      for (const pid of postmasters) signal(pid, "SIGQUIT");
      return postmasters.length === 0;
    });
  });

  function spawn(command: string[], own: string, env: Record<string, string> = {}): Bun.Subprocess {
    const as = account ? ["setpriv", `--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"] : [];
    const log = openSync(join(own, "log"), "a");
    const child = Bun.spawn([...as, ...command], {
      cwd: own,
      env: { PATH: process.env.PATH, HOME: own, LANG: "C.UTF-8", ...env },
      stdin: "ignore",
      stdout: log,
      stderr: log,
    });
    closeSync(log);
    children.add(child);
    return child;
  }

  function newDirectory(name: string): string {
    const own = join(directory, name);
    mkdirSync(own);
    if (account) chownSync(own, account.uid, account.gid);
    return own;
  }

  const etcd = newDirectory("etcd");
  const [client, peer] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const settings = inWords(read("deploy/failover/etcd"), {
    "10.0.0.11:2379": client,
    "10.0.0.11:2380": peer,
    "/var/lib/etcd/inboxd": join(etcd, "data"),
  }).replace(/,db2=.*/, "");
  const environment = settings.matchAll(/^(ETCD_\w+)=(.*)$/gm).map((line) => line.slice(1));
  spawn(["/usr/bin/etcd"], etcd, Object.fromEntries(environment));
  await untilSo(() => isOk(`http://${client}/health`));

  for (const name of ["db1", "db2"]) members.push(await startMember(name));

  async function startMember(name: string): Promise<Member> {
    const own = newDirectory(name);
    const [postgresPort, restPort] = [await freePort(), await freePort()];
    const dataDir = join(own, "data");
    const config = inWords(read("deploy/failover/patroni.yml"), {
      "name: db1": `name: ${name}`,
      "10.0.0.11:8008": `127.0.0.1:${restPort}`,
      "10.0.0.11:5432": `127.0.0.1:${postgresPort}`,
      "10.0.0.11:2379,10.0.0.12:2379,10.0.0.10:2379": client,
      "10.0.0.0/24": "127.0.0.1/32",
      "/usr/lib/postgresql/15/bin": binaries ?? "",
      "/var/lib/postgresql/15/inboxd": dataDir,
      "/var/run/postgresql": own,
      "/var/lib/postgresql": own,
    });
    writeFileSync(join(own, "patroni.yml"), config);
    const start = () => spawn(["/usr/bin/patroni", "patroni.yml"], own);
    let patroni = start();
    return {
      name,
      postgresPort,
      restPort,
      dataDir,
      start() {
        patroni = start();
      },
      kill() {
        patroni.kill("SIGKILL");
        killAtOnce(postmasterOf(dataDir));
      },
    };
  }

  const front = await freePort();
  const haproxy = newDirectory("haproxy");
  const config = members.reduce(
    (text, { name, postgresPort, restPort }) =>
      text.replace(new RegExp(`server ${name} .*`), `server ${name} 127.0.0.1:${postgresPort} check port ${restPort}`),
    read("deploy/failover/haproxy.cfg").replaceAll("127.0.0.1:5000", `127.0.0.1:${front}`),
  );
  writeFileSync(join(haproxy, "haproxy.cfg"), config);
  spawn(["/usr/sbin/haproxy", "-db", "-f", "haproxy.cfg"], haproxy);

  const isNow = (member: Member, role: "primary" | "sync") => isOk(`http://127.0.0.1:${member.restPort}/${role}`);

  async function primary(): Promise<Member | undefined> {
    const arePrimary = await Promise.all(members.map((member) => isNow(member, "primary")));
    return members.find((_, index) => arePrimary[index]);
  }

  async function knownPrimary(): Promise<Member> {
    const member = await primary();
    if (member === undefined) throw new Error("The cluster has no primary");
    return member;
  }

  async function untilSynchronous(): Promise<void> {
    await untilSo(
      async () => {
        const areSynchronous = await Promise.all(members.map((member) => isNow(member, "sync")));
        return areSynchronous.includes(true) && (await primary()) !== undefined;
      },
      ...patiently,
    );
  }

  async function ask(statement: string, database = "postgres"): Promise<Record<string, unknown>[]> {
    const login = { username: "postgres", password: "secret-of-postgres", database };
    const options = { max: 1, connect_timeout: 2, onnotice: () => undefined };
    const connection = postgres({ host: "127.0.0.1", port: front, ...login, ...options });
    try {
      return [...(await connection.unsafe(statement))];
    } finally {
      await connection.end({ timeout: 1 });
    }
  }

  await untilSynchronous();
  await untilSo(() =>
    ask("select 1").then(
      () => true,
      () => false,
    ),
  );
  const made = blocksOf(read("docs/operations.md")).find(({ text }) => text.startsWith("CREATE ROLE inboxd"));
  for (const statement of made?.text.trim().split("\n") ?? []) await ask(statement);
  const running = cleanups.move();
  return {
    url: (database) => `postgres://inboxd:secret-of-inboxd@127.0.0.1:${front}/${database}`,
    ask,
    async switchOver() {
      const { name, restPort } = await knownPrimary();
      const body = JSON.stringify({ leader: name });
      const answer = await fetch(`http://127.0.0.1:${restPort}/switchover`, { method: "POST", body });
      if (!answer.ok) throw new Error(`Cannot switch over: ${await answer.text()}`);
    },
    async killPrimary() {
      const before = await knownPrimary();
      // Holds its log back, as a network that fails a little earlier does. Then a commit waits for the standby, or is lost.
      const [sender] = await ask("select pid from pg_stat_replication");
      signal(Number(sender?.pid), "SIGSTOP");
      await untilSo(async () => (await ask(isBehind)).length > 0);
      before.kill();
      await untilSo(async () => (await primary()) !== undefined, ...patiently);
      before.start();
    },
    untilSynchronous,
    remove: () => running.disposeAsync(),
  };
}

/** Finds a commit that waits for the standby. Or the standby lacks more than the commits of a few clients, so some have not waited. */
const isBehind = `select from pg_stat_activity where wait_event = 'SyncRep'
  union all select from pg_stat_replication where pg_wal_lsn_diff(pg_current_wal_flush_lsn(), flush_lsn) > 1000000`;

/** Long enough for a new copy of the database, and with pauses, since each answer of Patroni takes a statement. */
const patiently = [180_000, 250] as const;

async function isOk(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await answer.text();
    return answer.ok;
  } catch {
    return false;
  }
}

/** The server that runs on these files. A killed server leaves the file with its number, which another process may have by now. */
function postmasterOf(dataDir: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n", 1)[0]);
    return readlinkSync(`/proc/${pid}/cwd`) === dataDir ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Kills a Postgres and all of its processes at the same moment, as a loss of power does. Without its parent, a process that commits no
 * longer waits for the standby, and others show what it has committed before they end too.
 */
function killAtOnce(pid: number | undefined): void {
  if (pid === undefined) return;
  signal(pid, "SIGSTOP");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").match(/\d+/g) ?? [];
  for (const name of ["SIGSTOP", "SIGKILL"] as const)
    for (const each of [...children.map(Number), pid]) signal(each, name);
}

function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
