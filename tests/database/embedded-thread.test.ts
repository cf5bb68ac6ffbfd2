import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../src/database/db.ts";
import { compiled } from "../../src/database/embedded-client.ts";
import { makeCluster } from "../../src/database/embedded-cluster.ts";
import { startEngine } from "../../src/database/embedded-engine.ts";
import { freeZeros } from "../../src/database/embedded-memory.ts";
import { type EngineUnderTest, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";

let under: EngineUnderTest;
let db: Db;
beforeAll(async () => {
  under = await openEngine("embedded");
  db = under.db.api;
});
afterAll(() => under?.remove());

test("The event loop continues while the embedded engine runs a statement", async () => {
  let turns = 0;
  let isAnswered = false;
  const asked = query(db, sql`select count(md5(n::text)) from generate_series(1, 200000) n`).then(() => {
    isAnswered = true;
  });
  for (; turns < 20 && !isAnswered; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(turns).toBe(20);
  await asked;
});

test("Statements that are sent together are answered in their order, however long the answers are", async () => {
  const lengths = [1, 300_000, 3, 20_000, 0];
  const answers = await transaction(db, (tx) =>
    Promise.all(lengths.map((length) => query(tx, sql`select repeat('ä', ${length}::int) as text, null as nothing`))),
  );
  expect(answers).toEqual(lengths.map((length) => [{ text: "ä".repeat(length), nothing: null }]));
});

test("An error of the engine has its SQLSTATE and its constraint, and the next statement runs", async () => {
  await query(db, sql`create table numbers (n int constraint positive check (n > 0))`);
  expect(await failureOf(query(db, sql`insert into numbers values (-1)`))).toMatchObject({
    sqlState: "23514",
    constraint: "positive",
  });
  expect(await query(db, sql`select count(*) as count from numbers`)).toEqual([{ count: 0 }]);
});

test("The copy of pieces that the engine writes to a file is freed at once", async () => {
  const directory = join(mkdtempSync(join(tmpdir(), "ibx-copy-")), "pg");
  await makeCluster(directory);
  const engine = await startEngine(directory, await compiled(), () => undefined);
  const { FS } = engine.Module;
  const file = FS.open("/pglite/data/copied", "w+");
  const copy = new Uint8Array(1 << 20).fill(7);
  FS.write(file, copy, 0, copy.length, 0);
  expect(copy.length).toBe(0);
  expect(await Bun.file(join(directory, "copied")).bytes()).toEqual(new Uint8Array(1 << 20).fill(7));
  await engine.close();
  rmSync(join(directory, ".."), { recursive: true, force: true });
});

test("Memory that holds only zeros is given back, and all other memory stays as it is", () => {
  const mebibytes = 64;
  const { buffer } = new WebAssembly.Memory({ initial: mebibytes * 16, maximum: mebibytes * 32 });
  const memory = new Uint8Array(buffer);
  memory.fill(1).fill(0);
  memory[5_000_000] = 7;
  memory[memory.length - 1] = 9;
  const before = process.memoryUsage.rss();
  freeZeros(memory);
  if (process.platform === "linux") expect(process.memoryUsage.rss()).toBeLessThan(before - ((mebibytes / 2) << 20));
  expect(memory.findIndex((byte) => byte !== 0)).toBe(5_000_000);
  expect([memory[5_000_000], memory.at(-1)]).toEqual([7, 9]);
});
