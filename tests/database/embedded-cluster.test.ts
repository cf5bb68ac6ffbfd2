import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { type Migration, migrate, migrations } from "../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";

describe.if(enginesHere().includes("embedded"))("The cluster that an embedded database starts from", () => {
  let shipped: EngineUnderTest;
  beforeAll(async () => {
    shipped = await openEngine("embedded");
  });
  afterAll(() => shipped?.remove());

  test("is what the migrations make, to the last row: where it isn't, `bun run cluster` makes it anew", async () => {
    const migrated = await openEngine("embedded");
    await query(migrated.db.api, sql`drop schema public cascade`);
    await query(migrated.db.api, sql`create schema public`);
    await migrate(migrated.db);
    const [is, ought] = [await schemaOf(shipped), await schemaOf(migrated)];
    await migrated.remove();
    expect(ought.length).toBeGreaterThan(200);
    expect(is).toEqual(ought);
  });

  test("holds no row: what is secret or random each service makes for itself", async () => {
    const tables = await tablesOf(shipped);
    expect(tables).toContain("settings");
    for (const table of tables) {
      const rows = await query(shipped.db.api, sql`select from ${sql.identifier(table)}`);
      expect([table, rows.length]).toEqual([table, table === "schema_steps" ? migrations.length : 0]);
    }
  });

  test("takes the steps of a later program, and after one that removes is refused by an earlier program", async () => {
    const later: Migration[] = [
      ...migrations,
      { tag: "9998_later", kind: "expand", text: "create table later (id int)" },
      { tag: "9999_last", kind: "contract", text: "drop table later" },
    ];
    await migrate(shipped.db, later.slice(0, -1));
    expect(await tablesOf(shipped)).toContain("later");
    await migrate(shipped.db);
    await migrate(shipped.db, later);
    expect(String(await failureOf(migrate(shipped.db)))).toContain("it has step 9999_last");
  });
});

async function tablesOf({ db }: EngineUnderTest): Promise<string[]> {
  const rows = await query<{ name: string }>(
    db.api,
    sql`select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  return rows.map(({ name }) => name);
}

/** Each relation, column, constraint, index, function, trigger, sequence and type, a line each, and the steps that were taken. */
async function schemaOf({ db }: EngineUnderTest): Promise<string[]> {
  const rows = await query<{ line: string }>(
    db.api,
    sql`
      with ours as (select * from pg_class where relnamespace = 'public'::regnamespace)
      select line from (
        select format('%s %s %s %s %s', relname, relkind, relpersistence, reloptions, reltuples) as line
          from ours
        union all
        select format('%s.%s %s %s %s %s %s %s %s %s', relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull,
            attidentity, attgenerated, attstorage, attcompression, pg_get_expr(adbin, adrelid))
          from ours join pg_attribute on attrelid = ours.oid left join pg_attrdef on adrelid = attrelid and adnum = attnum
          where not attisdropped
        union all
        select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
          from pg_constraint where connamespace = 'public'::regnamespace
        union all
        select pg_get_indexdef(oid) from ours where relkind = 'i'
        union all
        select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
        union all
        select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
        union all
        select to_jsonb(pg_sequences)::text from pg_sequences
        union all
        select format('%s %s', typname, typtype) from pg_type where typnamespace = 'public'::regnamespace
        union all
        select format('extension %s', extname) from pg_extension
        union all
        select format('step %s %s %s', step, tag, kind) from schema_steps
      ) lines order by line collate "C"`,
  );
  return rows.map(({ line }) => line);
}
