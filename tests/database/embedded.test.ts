import { heapStats } from "bun:jsc";
import { afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { DatabaseUnavailable, DataDirectoryInUse, openDatabase, query } from "../../src/database/db.ts";
import { lockDirectory } from "../../src/database/directory-lock.ts";
import { openEmbedded } from "../../src/database/embedded.ts";
import { reserveCluster } from "../../src/database/embedded-cluster.ts";
import { failureOf } from "../support/failure.ts";
import { until } from "../support/until.ts";

const directories: string[] = [];

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "ibx-"));
  directories.push(directory);
  return directory;
}

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

describe("The embedded database", () => {
  test("reaches the disk at each commit", async () => {
    const directory = newDirectory();
    let flushes = 0;
    const embedded = await openEmbedded(directory, { onFlush: () => flushes++ });
    const connection = embedded.connect();
    await connection.script("create table kept (id int)");
    const before = flushes;
    for (let id = 0; id < 50; id++) await connection.run("insert into kept values ($1)", [String(id)]);
    expect(flushes - before).toBeGreaterThanOrEqual(50);
    const afterWrites = flushes;
    for (let id = 0; id < 50; id++) await connection.run("select $1::int", [String(id)]);
    expect(flushes).toBe(afterWrites);
    await embedded.close();
  });

  test("has every acknowledged commit after kill -9 under writes", async () => {
    const directory = newDirectory();
    const acknowledged = new Set<number>();
    for (let round = 0; round < 3; round++) {
      const writer = startWriter(directory, (round + 1) * 100_000);
      for await (const id of writer.ids) {
        acknowledged.add(id);
        if (id % 1_000 === 40 + round * 37) writer.kill();
      }
    }
    const db = await openDatabase({ dataDir: directory });
    const found = new Set((await query<{ id: number }>(db.api, sql`select id from kept`)).map(({ id }) => id));
    await db.close();
    expect(acknowledged.size).toBeGreaterThan(100);
    expect([...acknowledged].filter((id) => !found.has(id))).toEqual([]);
  });

  test("keeps its directory from everybody else", async () => {
    const directory = join(newDirectory(), "data");
    const db = await openDatabase({ dataDir: directory });
    expect(statSync(directory).mode & 0o077).toBe(0);
    expect(statSync(join(directory, "pg")).mode & 0o077).toBe(0);
    await db.close();
  });

  test("comes back when its engine has failed and been left alone for a while, whoever asked meanwhile", async () => {
    const directory = newDirectory();
    const embedded = await openEmbedded(directory, { pauseMs: 200 });
    const first = embedded.connect();
    await first.script("create table kept (id int); insert into kept values (1)");
    first.sever();
    const failedAt = performance.now();
    for (let refusals = 0; refusals < 5; refusals++) {
      const refused = embedded.connect();
      expect(String(await failureOf(refused.run("select id from kept", [])))).toContain("just failed");
      // As a pool does with a connection that has failed.
      refused.sever();
    }
    await until(() => performance.now() >= failedAt + 200);
    const next = embedded.connect();
    expect(await next.run("select id from kept", [])).toEqual([{ id: 1 }]);
    next.sever();
    await embedded.close();
  });

  test("lets go of the memory of an engine that has failed, which has set itself an alarm", async () => {
    const embedded = await openEmbedded(newDirectory(), { pauseMs: 0 });
    const before = memories();
    for (let failure = 0; failure < 4; failure++) {
      const connection = embedded.connect();
      // Ten seconds after a write it counts it.
      await connection.run(`create table t${failure} ()`, []);
      connection.sever();
    }
    expect(memories() - before).toBeLessThan(3);
    await embedded.close();
  });

  /** Of WebAssembly, that somebody still holds. */
  function memories(): number {
    Bun.gc(true);
    return heapStats().objectTypeCounts["WebAssembly.Memory"] ?? 0;
  }

  test("lets go of all files of an engine that can't be started", async () => {
    const directory = newDirectory();
    const embedded = await openEmbedded(directory, { pauseMs: 0 });
    const openFiles = () => readdirSync("/proc/self/fd").length;
    const before = openFiles();
    const tables = join(directory, "pg", "global");
    renameSync(tables, `${tables}.away`);
    for (let attempt = 0; attempt < 3; attempt++) {
      const connection = embedded.connect();
      connection.sever();
      const again = embedded.connect();
      expect(await failureOf(again.run("select 1", []))).toBeInstanceOf(DatabaseUnavailable);
      again.sever();
    }
    expect(openFiles()).toBeLessThanOrEqual(before);
    await embedded.close();
  });
});

describe("A data directory that can't be used", () => {
  /** Its own directory each, in which a database was, and what was then done to it. */
  const faults: readonly [what: string, harm: (pg: string) => void, says: RegExp][] = [
    ["is empty", emptied, /damaged, or another program's \(there is no PG_VERSION in it\)/],
    ["is a file", (pg) => [rmSync(pg, { recursive: true }), writeFileSync(pg, "")], /no PG_VERSION/],
    [
      "is of another version",
      (pg) => writeFileSync(join(pg, "PG_VERSION"), "16\n"),
      /initialized by PostgreSQL version 16/,
    ],
    [
      "has lost its control file",
      (pg) => rmSync(join(pg, "global/pg_control")),
      /could not open file "global\/pg_control"/,
    ],
    ["has lost its log", (pg) => emptied(join(pg, "pg_wal")), /could not locate a valid checkpoint record/],
  ];
  test.each(faults)("says what is wrong and what to do: its database %s", async (_what, harm, says) => {
    const directory = await usedDirectory();
    harm(join(directory, "pg"));
    const said = String(await failureOf(openDatabase({ dataDir: directory })));
    expect(said).toMatch(says);
    expect(said).toStartWith(`Error: Cannot open ${join(directory, "pg")}: it is damaged`);
    expect(said).toEndWith("put a backup in its place, or set DATA_DIR to an empty directory");
  });

  const closed: readonly [what: string, close: (directory: string) => void][] = [
    ["its database", (directory) => chownAll(join(directory, "pg"))],
    [
      "its database, which it can read",
      (directory) => [chownAll(join(directory, "pg")), openAll(join(directory, "pg"))],
    ],
    ["its log", (directory) => chownAll(join(directory, "pg", "pg_wal"))],
    ["a file", (directory) => chownAll(join(directory, "pg", "global", "pg_control"))],
  ];
  test.skipIf(!actsAsAnother()).each(closed)("of another user is not called damaged: %s", async (_what, close) => {
    const directory = await usedDirectory();
    chownAll(directory, 65_534);
    close(directory);
    const said = await saidAs(65_534, directory);
    expect(said).toStartWith(`Error: Cannot open ${join(directory, "pg")}: this user can't read and write it`);
    expect(said).toEndWith("Its data may be intact: do not restore a backup over it");
  });

  test("says that a file of its tables is gone, and what to do", async () => {
    const directory = await usedDirectory();
    const db = await openDatabase({ dataDir: directory });
    await query(db.api, sql`create table kept (id int)`);
    const [{ path } = { path: "" }] = await query<{ path: string }>(
      db.api,
      sql`select pg_relation_filepath('kept') as path`,
    );
    await db.close();
    rmSync(join(directory, "pg", path));
    const harmed = await openDatabase({ dataDir: directory });
    try {
      const error = await failureOf(query(harmed.api, sql`select from kept`));
      expect(error).toBeInstanceOf(DatabaseUnavailable);
      expect(String(error)).toMatch(/: a file of it is gone \(.*\); put a backup of the database in its place$/);
    } finally {
      await harmed.close();
    }
  });

  test("says that its lock is none", async () => {
    const directory = await usedDirectory();
    writeFileSync(join(directory, "lock"), "junk");
    expect(String(await failureOf(openDatabase({ dataDir: directory })))).toBe(
      `Error: Cannot use DATA_DIR ${directory}: its file "lock" is not a lock file; delete that file while no inboxd uses the directory`,
    );
  });

  test("is refused when its database is gone, and nothing is made in its place", async () => {
    const directory = await usedDirectory();
    rmSync(join(directory, "pg"), { recursive: true });
    expect(String(await failureOf(openDatabase({ dataDir: directory })))).toContain("it is gone, though");
    expect(readdirSync(directory)).toEqual(["lock"]);
  });

  test.each(["a file", "of a file"])("says so when it is no directory: %s", async (what) => {
    const file = join(newDirectory(), "file");
    writeFileSync(file, "");
    const dataDir = what === "a file" ? file : join(file, "data");
    expect(String(await failureOf(openDatabase({ dataDir })))).toMatch(
      /^Error: Cannot use DATA_DIR .*or set DATA_DIR elsewhere$/,
    );
  });

  const deaths: readonly [when: string, left: (directory: string) => void][] = [
    ["before its lock", (directory) => mkdirSync(join(directory, "pg.unfinished"))],
    [
      "behind its lock",
      (directory) => {
        mkdirSync(join(directory, "pg.unfinished"));
        writeFileSync(join(directory, "lock"), "");
      },
    ],
    [
      "while it unpacked",
      (directory) => {
        mkdirSync(join(directory, "pg.unfinished", "base"), { recursive: true });
        writeFileSync(join(directory, "lock"), "");
      },
    ],
  ];
  test.each(deaths)("is none whose very first start died: %s", async (_when, left) => {
    const directory = newDirectory();
    left(directory);
    const db = await openDatabase({ dataDir: directory });
    await db.promptly((runner) => runner.run("select 1", []));
    await db.close();
    expect(readdirSync(directory).toSorted()).toEqual(["lock", "pg"]);
  });

  test("is none that has a stray beginning beside its database", async () => {
    const directory = await usedDirectory();
    mkdirSync(join(directory, "pg.unfinished"));
    await (await openDatabase({ dataDir: directory })).close();
    expect(readdirSync(directory).toSorted()).toEqual(["lock", "pg"]);
  });

  function chownAll(path: string, user = 0): void {
    for (const name of [path, ...inside(path)]) chownSync(name, user, user);
  }

  function openAll(path: string): void {
    for (const name of [path, ...inside(path)]) chmodSync(name, statSync(name).mode | 0o055);
  }

  function inside(path: string): string[] {
    if (!statSync(path).isDirectory()) return [];
    return readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  }

  /** Root may read and write whatever it finds, so it opens the directory as somebody else, who must be able to read this project. */
  function actsAsAnother(): boolean {
    if (process.getuid?.() !== 0 || Bun.which("setpriv") === null) return false;
    return Bun.spawnSync([...identity(65_534), "test", "-r", import.meta.path]).success;
  }

  function identity(user: number): string[] {
    return ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups"];
  }

  /** What another user is told who opens the directory. */
  async function saidAs(user: number, directory: string): Promise<string> {
    const task = join(import.meta.dir, "../support/embedded-process.ts");
    const child = Bun.spawn([...identity(user), process.execPath, task, "say", directory], {
      env: { HOME: directory, PATH: process.env.PATH },
    });
    return (await new Response(child.stdout).text()).trim();
  }

  async function usedDirectory(): Promise<string> {
    const directory = newDirectory();
    await (await openDatabase({ dataDir: directory })).close();
    return directory;
  }

  function emptied(directory: string): void {
    rmSync(directory, { recursive: true });
    mkdirSync(directory);
  }
});

describe("The data directory", () => {
  test("belongs to one process, until that lets go of it", async () => {
    const directory = newDirectory();
    const db = await openDatabase({ dataDir: directory });
    expect(await failureOf(openDatabase({ dataDir: directory }))).toBeInstanceOf(DataDirectoryInUse);
    expect(await inAnotherProcess(directory)).toEqual({ opened: "DataDirectoryInUse" });
    await db.close();
    expect(await inAnotherProcess(directory)).toEqual({ opened: "yes" });
  });

  test("is free again after kill -9 of its owner", async () => {
    const directory = newDirectory();
    const writer = startWriter(directory, 0);
    for await (const _ of writer.ids) writer.kill();
    lockDirectory(directory).release();
  });

  test("goes to exactly one of several that start at once", async () => {
    const directory = newDirectory();
    const starters = Array.from({ length: 4 }, () => startAnother("hold", directory));
    const outcomes = await Promise.all(starters.map(({ outcome }) => outcome));
    for (const { child } of starters) child.stdin.end();
    expect(outcomes.map(({ opened }) => opened).toSorted()).toEqual([
      "DataDirectoryInUse",
      "DataDirectoryInUse",
      "DataDirectoryInUse",
      "yes",
    ]);
  });

  test("can be reserved while another start renames its cluster", async () => {
    const directory = newDirectory();
    const child = Bun.spawn(["bun", program, "name", directory], { stdout: "pipe", stderr: "inherit" });
    let isRenaming = true;
    void child.exited.then(() => {
      isRenaming = false;
    });
    let reserved = 0;
    for (; isRenaming; reserved++) await reserveCluster(directory);
    expect([await child.exited, reserved > 1000]).toEqual([0, true]);
  });
});

const program = join(import.meta.dir, "../support/embedded-process.ts");

/** A process that writes ids one by one and prints each after its commit, until it is killed. */
function startWriter(directory: string, firstId: number): { ids: AsyncIterable<number>; kill(): void } {
  const child = Bun.spawn(["bun", program, "write", directory, String(firstId)], { stdout: "pipe", stderr: "inherit" });
  async function* printed(): AsyncGenerator<number> {
    let rest = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield Number(line);
    }
    await child.exited;
  }
  return { ids: printed(), kill: () => child.kill("SIGKILL") };
}

function inAnotherProcess(directory: string): Promise<Outcome> {
  return startAnother("open", directory).outcome;
}

interface Outcome {
  opened: string;
  answer?: string;
}

/** A process that tries to open the directory; told to hold it, it does until its standard input ends. */
function startAnother(task: "open" | "hold", directory: string) {
  const child = Bun.spawn(["bun", program, task, directory], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  async function firstLine(): Promise<Outcome> {
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) return JSON.parse(text);
    throw new Error("The process ended without a word");
  }
  return { child, outcome: firstLine() };
}
