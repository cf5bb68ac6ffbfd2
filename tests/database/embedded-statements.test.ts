import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../src/database/db.ts";
import { type EngineUnderTest, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";

let under: EngineUnderTest;
let db: Db;
beforeAll(async () => {
  under = await openEngine("embedded");
  db = under.db.api;
});
afterAll(() => under?.remove());

async function preparedLike(mark: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    db,
    sql`select count(*) from pg_prepared_statements where statement like ${`%${mark}%`} and statement not like '%pg_prepared%'`,
  );
  return row?.count ?? -1;
}

test("A statement of the embedded engine is parsed once, however often it runs", async () => {
  for (let n = 0; n < 5; n += 1) expect(await query(db, sql`select ${n}::int as "once"`)).toEqual([{ once: n }]);
  expect(await preparedLike('"once"')).toBe(1);
});

test("A statement that failed runs again, also where its table has changed meanwhile", async () => {
  await query(db, sql`create table changing (id int)`);
  const read = () => query(db, sql`select * from changing`);
  expect(await read()).toEqual([]);
  await query(db, sql`alter table changing add column name text`);
  await failureOf(read());
  await query(db, sql`insert into changing values (1, 'one')`);
  expect(await read()).toEqual([{ id: 1, name: "one" }]);
});

test("A statement that could not be parsed inside a broken transaction can be outside it", async () => {
  const statement = () => query(db, sql`select 'after all' as said`);
  await failureOf(
    transaction(db, async (tx) => {
      await failureOf(query(tx, sql`select 1 / 0`));
      await query(tx, sql`select 'after all' as said`);
    }),
  );
  expect(await statement()).toEqual([{ said: "after all" }]);
});

test("Statements that fail leave nothing behind", async () => {
  const divide = (by: number) => query(db, sql`select 1 / ${by}::int as "quotient"`);
  for (let n = 0; n < 5; n += 1) await failureOf(divide(0));
  expect(await divide(1)).toEqual([{ quotient: 1 }]);
  expect(await preparedLike('"quotient"')).toBe(1);
});

test("Statements that are never the same don't fill the engine's memory", async () => {
  for (let n = 0; n < 600; n += 1) await query(db, sql.raw(`select ${n} as "crowd"`));
  expect(await preparedLike('"crowd"')).toBeLessThanOrEqual(500);
  expect(await query(db, sql.raw(`select 0 as "crowd"`))).toEqual([{ crowd: 0 }]);
});
