import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { askHolder, DataDirectoryInUse, openDatabase, query } from "../../src/store/db.ts";
import { lockDirectory } from "../../src/store/directory-lock.ts";
import { openEmbedded } from "../../src/store/embedded.ts";
import { careFor } from "../../src/store/embedded-care.ts";
import { openPool } from "../../src/store/pool.ts";
import { failureOf } from "../support/failure.ts";

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
    for (let id = 0; id < 50; id++) await connection.run("insert into kept values ($1)", [String(id)], "arrays");
    expect(flushes - before).toBeGreaterThanOrEqual(50);
    const afterWrites = flushes;
    for (let id = 0; id < 50; id++) await connection.run("select $1::int", [String(id)], "arrays");
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

  test("begins anew when its first start was cut off", async () => {
    const directory = newDirectory();
    mkdirSync(join(directory, "pg.unfinished", "base"), { recursive: true });
    const db = await openDatabase({ dataDir: directory });
    await db.ping();
    expect(existsSync(join(directory, "pg.unfinished"))).toBe(false);
    await db.close();
  });

  test("keeps its directory from everybody else", async () => {
    const directory = join(newDirectory(), "data");
    const db = await openDatabase({ dataDir: directory });
    expect(statSync(directory).mode & 0o077).toBe(0);
    expect(statSync(join(directory, "pg")).mode & 0o077).toBe(0);
    await db.close();
  });

  test("keeps its log of changes short and its tables swept", async () => {
    const directory = newDirectory();
    let care = () => {};
    const swept: string[] = [];
    const embedded = await openEmbedded(directory, { onFlush: () => care() });
    const pool = openPool({
      size: 1,
      connect: embedded.connect,
      acquireMs: 5_000,
      lifetimeMs: Number.POSITIVE_INFINITY,
    });
    const watched = {
      ...pool,
      script(text: string) {
        swept.push(text);
        return pool.script(text);
      },
    };
    care = careFor(() => watched, { flushesBetweenLooks: 16, mostUncheckpointedBytes: 4 * 1024 * 1024 });
    await pool.script("create table busy (id int, body text); alter table busy alter body set storage external");
    for (let round = 0; round < 10; round++) {
      await pool.run(
        "insert into busy select n, repeat(md5(n::text), 60) from generate_series(1, 1000) n",
        [],
        "arrays",
      );
      await pool.run("delete from busy where id % 2 = 0", [], "arrays");
    }
    expect(swept).toContain("checkpoint");
    expect(swept).toContain("vacuum (analyze) busy");
    await pool.close();
    await embedded.close();
  });

  test("comes back after its engine has failed", async () => {
    const directory = newDirectory();
    const embedded = await openEmbedded(directory, { pauseMs: 100 });
    const first = embedded.connect();
    await first.script("create table kept (id int); insert into kept values (1)");
    first.sever();
    const second = embedded.connect();
    expect(String(await failureOf(second.run("select id from kept", [], "arrays")))).toContain("just failed");
    second.sever();
    await Bun.sleep(100);
    const third = embedded.connect();
    expect(await third.run("select id from kept", [], "arrays")).toEqual([[1]]);
    third.sever();
    await embedded.close();
  });
});

describe("The data directory", () => {
  test("belongs to one process, which can be asked", async () => {
    const directory = newDirectory();
    const db = await openDatabase({ dataDir: directory });
    db.control?.serve((request) => new Response(`heard ${new URL(request.url).pathname}`));
    expect(statSync(join(directory, "control.sock")).mode & 0o777).toBe(0o600);
    expect(await failureOf(openDatabase({ dataDir: directory }))).toBeInstanceOf(DataDirectoryInUse);
    expect(await inAnotherProcess(directory)).toEqual({ opened: "DataDirectoryInUse", answer: "heard /ask" });
    await db.close();
    expect(existsSync(join(directory, "control.sock"))).toBe(false);
    expect(await inAnotherProcess(directory)).toMatchObject({ opened: "yes" });
  });

  test("is free again after kill -9 of its owner, whose socket is left", async () => {
    const directory = newDirectory();
    const writer = startWriter(directory, 0);
    for await (const _ of writer.ids) writer.kill();
    expect(existsSync(join(directory, "control.sock"))).toBe(true);
    const lock = lockDirectory(directory);
    lock.serve(() => new Response("mine"));
    expect(await (await askHolder(directory, "/")).text()).toBe("mine");
    await lock.release();
  });

  test("goes to exactly one of several that start at once", async () => {
    const directory = newDirectory();
    const starters = Array.from({ length: 4 }, () => startAnother("hold", directory));
    const outcomes = await Promise.all(starters.map(({ outcome }) => outcome));
    for (const { child } of starters) child.stdin.end();
    expect(outcomes.map(({ opened }) => opened).toSorted()).toEqual([
      ...["DataDirectoryInUse", "DataDirectoryInUse", "DataDirectoryInUse", "yes"],
    ]);
  });

  test("may have a path that is too long for a socket", async () => {
    const directory = join(newDirectory(), "long".repeat(40));
    const lock = lockDirectory(directory);
    lock.serve(() => new Response("reached"));
    expect(await (await askHolder(directory, "/")).text()).toBe("reached");
    await lock.release();
  });

  test("is asked for as long as the answer takes, beyond the 10 s after which Bun gives up", async () => {
    const directory = newDirectory();
    const lock = lockDirectory(directory);
    lock.serve(async () => {
      await Bun.sleep(13_000);
      return new Response("at last");
    });
    expect(await (await askHolder(directory, "/")).text()).toBe("at last");
    await lock.release();
  }, 30_000);

  test("answers nobody when it has no owner", async () => {
    expect(await failureOf(askHolder(newDirectory(), "/"))).toBeInstanceOf(Error);
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
