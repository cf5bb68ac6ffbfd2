import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Database, openDatabase, query, transaction } from "../../src/database/db.ts";
import { type Migration, migrate, migrations } from "../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";

const steps: Migration[] = [
  { tag: "0000_one", text: "create table one (id int); insert into one values (1)" },
  { tag: "0001_two", text: "create table two (id int);\n--> statement-breakpoint\ninsert into two select id from one" },
];

test("The program carries every migration there is, in order", () => {
  const files = readdirSync(join(import.meta.dir, "../../drizzle")).filter((name) => name.endsWith(".sql"));
  expect(migrations.map(({ tag }) => `${tag}.sql`)).toEqual(files.toSorted());
});

for (const engine of enginesHere()) {
  describe(`Migrations on the ${engine} database`, () => {
    let under: EngineUnderTest;
    let db: Database;

    beforeAll(async () => {
      under = await openEngine(engine);
      db = under.db;
    });

    afterAll(() => under?.remove());

    async function startAfresh(): Promise<void> {
      await query(db.api, sql`drop schema public cascade`);
      await query(db.api, sql`create schema public`);
    }

    test("make the schema, and make it once", async () => {
      await startAfresh();
      await migrate(db);
      await migrate(db);
      const rows = await query<{ tag: string }>(db.api, sql`select tag from schema_steps order by step`);
      expect(rows.map(({ tag }) => tag)).toEqual(migrations.map(({ tag }) => tag));
      await query(db.api, sql`select from inboxes`);
    });

    test("may be asked for by many at once", async () => {
      await startAfresh();
      await Promise.all(Array.from({ length: 8 }, () => migrate(db, steps)));
      expect(await query(db.api, sql`select id from two`)).toEqual([{ id: 1 }]);
    });

    test("that fail half way leave the step untouched, and go on from there", async () => {
      await startAfresh();
      const broken = steps.with(1, { tag: "0001_two", text: "create table two (id int); select 1 / 0" });
      expect(await failureOf(migrate(db, broken))).toBeInstanceOf(Error);
      expect(
        await query(db.api, sql`select to_regclass('one') is not null as one, to_regclass('two') is null as two`),
      ).toEqual([{ one: true, two: true }]);
      await migrate(db, steps);
      expect(await query(db.api, sql`select id from two`)).toEqual([{ id: 1 }]);
    });

    test("refuse a schema that is newer than the program", async () => {
      await startAfresh();
      await migrate(db, steps);
      expect(String(await failureOf(migrate(db, steps.slice(0, 1))))).toContain(
        "Cannot use this database: its schema is newer than this inboxd (it has step 0001_two",
      );
    });

    test("repeat a step that ended in a deadlock", async () => {
      await startAfresh();
      const failing = `do $$ begin if to_regclass('done') is null then raise deadlock_detected; end if; end $$;`;
      const deadlocked = steps.with(1, { tag: "0001_two", text: `${failing} create table two (id int)` });
      const failures: string[] = [];
      await migrate(db, deadlocked, {
        pauseMs: 0,
        async onRetry(error) {
          failures.push(String(error));
          if (failures.length === 3) await query(db.api, sql`create table done (id int)`);
        },
      });
      expect(failures).toHaveLength(3);
      expect(failures[0]).toContain("deadlock_detected");
      expect(await query(db.api, sql`select id from two`)).toEqual([]);
    });

    test.if(engine === "postgres")("give way to a statement that uses a table, and repeat the step", async () => {
      await startAfresh();
      await migrate(db, steps.slice(0, 1));
      const retried = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const using = transaction(db.api, async (tx) => {
        await query(tx, sql`insert into one values (2)`);
        locked.resolve();
        await retried.promise;
        // A migration that kept its place in the queue for the table would be in the way of this.
        await query(db.work, sql`select from one`);
      });
      await locked.promise;
      const altering = steps.with(1, { tag: "0001_two", text: "alter table one add column two int" });
      await migrate(db, altering, { lockMs: 20, pauseMs: 20, onRetry: () => retried.resolve() });
      await using;
      expect(await query(db.api, sql`select id, two from one order by id`)).toEqual([
        { id: 1, two: null },
        { id: 2, two: null },
      ]);
    });

    test.if(engine === "postgres")("are safe when eight processes start on an empty database", async () => {
      await startAfresh();
      const program = join(import.meta.dir, "../support/migrating-process.ts");
      const children = Array.from({ length: 8 }, () =>
        Bun.spawn(["bun", program, under.options.url ?? ""], { stdout: "ignore", stderr: "pipe" }),
      );
      const complaints = await Promise.all(children.map((child) => new Response(child.stderr).text()));
      expect(complaints.join("")).toBe("");
      expect(await query(db.api, sql`select count(*) as n from schema_steps`)).toEqual([{ n: migrations.length }]);
    });

    test.if(engine === "postgres")("go on after the process that made them was cut off", async () => {
      await startAfresh();
      const slow = steps.with(1, { tag: "0001_two", text: "create table two (id int); select pg_sleep(60)" });
      const other = await openDatabase(under.options);
      const cutOff = failureOf(migrate(other, slow));
      const busy = sql`select pid from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid() and state = 'active'`;
      while ((await query(db.api, busy)).length === 0) await Bun.sleep(10);
      await query(db.api, sql`select pg_terminate_backend(pid) from (${busy}) as busy`);
      expect(await cutOff).toBeInstanceOf(Error);
      await migrate(db, steps);
      expect(await query(db.api, sql`select id from two`)).toEqual([{ id: 1 }]);
      await other.close();
    });
  });
}
