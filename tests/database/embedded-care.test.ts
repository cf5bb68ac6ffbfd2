import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedded } from "../../src/database/embedded.ts";
import { careFor } from "../../src/database/embedded-care.ts";
import { openPool } from "../../src/database/pool.ts";
import { until } from "../support/until.ts";

const directories: string[] = [];

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

describe("The care of the embedded database", () => {
  test("keeps its log of changes short and its tables swept", async () => {
    await using db = await caredFor({});
    await db.pool.script("create table busy (id int, body text); alter table busy alter body set storage external");
    for (let round = 0; round < 40; round++) {
      await db.pool.run("insert into busy select n, repeat(md5(n::text), 60) from generate_series(1, 1000) n", []);
      await db.pool.run("delete from busy where id % 2 = 0", []);
    }
    const said = db.statements.map(({ text }) => text);
    expect(said).toContain("checkpoint");
    expect(said).toContain("vacuum (index_cleanup off) busy");
    expect(said).toContain("vacuum (index_cleanup on) busy");
    expect(said).toContain("analyze busy");
  });

  test("looks at no more of a table than what is new in it, and a sample, however large it is", async () => {
    await using db = await caredFor({});
    await db.pool.script("create table grown (id int primary key, body text)");
    await db.pool.script("alter table grown alter body set storage plain");
    for (let from = 1; from < 8_000; from += 20) {
      await db.pool.run(
        "insert into grown select n, repeat(n::text, 6000 / length(n::text)) from generate_series($1::int, $1::int + 19) n",
        [String(from)],
      );
    }
    const [{ pages, unseen }] = (await db.pool.run(
      `select pg_relation_size('grown') / 8192 as pages, pg_relation_size('grown') / 8192 - relallvisible as unseen
       from pg_class where relname = 'grown'`,
      [],
    )) as [{ pages: number; unseen: number }];
    expect(pages).toBeGreaterThan(7_900);
    expect(unseen).toBeLessThan(2_000);
    expect(db.statements.filter(({ text }) => text === "analyze grown").length).toBeGreaterThan(2);
    expect(Math.max(...db.statements.map(({ blocks }) => blocks))).toBeLessThan(4_000);
  });

  test("leaves large indexes alone while there is no quiet moment", async () => {
    await using db = await caredFor({ mostIndexBytes: 0, quietMs: 60_000 });
    await fillAndEmpty(db.pool);
    expect(db.statements.map(({ text }) => text)).not.toContain("vacuum (index_cleanup on) emptied");
  });

  test("takes out of large indexes what is gone in a quiet moment", async () => {
    await using db = await caredFor({ mostIndexBytes: 0, quietMs: 50 });
    await fillAndEmpty(db.pool);
    await until(() => db.statements.some(({ text }) => text === "vacuum (index_cleanup on) emptied"));
  });

  test("waits for a quiet moment only so long", async () => {
    await using db = await caredFor({ mostIndexBytes: 0, quietMs: 60_000, mostRoundsUnquiet: 2 });
    await fillAndEmpty(db.pool);
    expect(db.statements.map(({ text }) => text)).toContain("vacuum (index_cleanup on) emptied");
  });
});

async function fillAndEmpty(pool: { run(text: string, values: string[]): Promise<unknown> }): Promise<void> {
  await pool.run("create table emptied (id int primary key, body text)", []);
  for (let from = 0; from < 40_000; from += 200) {
    await pool.run("insert into emptied select n, repeat('x', 1000) from generate_series($1::int, $1::int + 199) n", [
      String(from),
    ]);
    await pool.run("delete from emptied where id % 2 = 0 and id > $1::int - 10000", [String(from)]);
  }
}

/** A database that is looked after each 4 MB, with all that is said to it for that, and how many pages of tables each has looked at. */
async function caredFor(change: Parameters<typeof careFor>[1]) {
  const directory = mkdtempSync(join(tmpdir(), "ibx-"));
  directories.push(directory);
  let care = () => {};
  const embedded = await openEmbedded(directory, { onFlush: () => care() });
  const pool = openPool({
    size: 1,
    connect: embedded.connect,
    acquireMs: 5_000,
    lifetimeMs: Number.POSITIVE_INFINITY,
  });
  const statements: { text: string; blocks: number }[] = [];
  const watched = {
    ...pool,
    async script(text: string) {
      const before = await blocksSeen();
      const done = await pool.script(text);
      statements.push({ text, blocks: (await blocksSeen()) - before });
      return done;
    },
  };
  care = careFor(() => watched, { flushesBetweenLooks: 16, mostUncheckpointedBytes: 4 * 1024 * 1024, ...change });

  async function blocksSeen(): Promise<number> {
    await pool.run("select pg_stat_force_next_flush()", []);
    const [seen] = await pool.run(
      "select sum(heap_blks_read + heap_blks_hit)::int8 as blocks from pg_statio_user_tables",
      [],
    );
    return Number((seen as { blocks: number | null }).blocks);
  }

  return {
    pool,
    statements,
    async [Symbol.asyncDispose]() {
      await pool.close();
      await embedded.close();
    },
  };
}
