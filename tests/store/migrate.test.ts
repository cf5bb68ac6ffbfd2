import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Database, openDatabase, query, transaction } from "../../src/database/db.ts";
import {
  type DoneStep,
  type JudgedSteps,
  judgeSteps,
  type Migration,
  migrate,
  migrations,
} from "../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";

const steps: Migration[] = [
  { tag: "0000_one", kind: "expand", text: "create table one (id int); insert into one values (1)" },
  {
    tag: "0001_two",
    kind: "expand",
    text: "create table two (id int);\n--> statement-breakpoint\ninsert into two select id from one",
  },
];
const contracting: Migration = { tag: "0002_three", kind: "contract", text: "drop table one" };

test("The program carries every migration there is, in order", () => {
  const files = readdirSync(join(import.meta.dir, "../../drizzle")).filter((name) => name.endsWith(".sql"));
  expect(migrations.map(({ tag }) => `${tag}.sql`)).toEqual(files.toSorted());
});

const [one, two] = [
  { tag: "0000_one", kind: "expand" },
  { tag: "0001_two", kind: "expand" },
] as const;
const judged: readonly [what: string, done: readonly DoneStep[], comesTo: Partial<JudgedSteps>][] = [
  ["an empty database", [], { toDo: ["0000_one", "0001_two"], unknown: [], refused: undefined }],
  ["a database behind", [one], { toDo: ["0001_two"], unknown: [], refused: undefined }],
  ["a database of ours", [one, two], { toDo: [], unknown: [], refused: undefined }],
  ["a step that adds", [one, two, { tag: "0002_a", kind: "expand" }], { unknown: ["0002_a"], refused: undefined }],
  [
    "a step that removes",
    [one, two, { tag: "0002_a", kind: "contract" }],
    { toDo: [], unknown: ["0002_a"], refused: "0002_a" },
  ],
  [
    "a step that removes, after one that adds",
    [one, two, { tag: "0002_a", kind: "expand" }, { tag: "0003_b", kind: "contract" }],
    { unknown: ["0002_a", "0003_b"], refused: "0003_b" },
  ],
  ["another step in the place of ours", [one, { tag: "0001_other", kind: "expand" }], { refused: "0001_other" }],
];

test.each(judged)("A program with two steps meets %s", (_what, done, comesTo) => {
  expect(judgeSteps(done, steps)).toMatchObject(comesTo);
});

test("Each step after the first that is said to add only adds", () => {
  const added = migrations.slice(1).filter(({ kind }) => kind === "expand");
  expect(added.map(({ tag, text }) => [tag, removing(text)])).toEqual(added.map(({ tag }) => [tag, []]));
});

const commands: readonly [what: string, text: string, found: string[]][] = [
  ["a new table", "create table three (id int not null)", []],
  ["a new column", 'alter table "one" add column "two" int', []],
  ["a new column that is never null, with a default", 'alter table "one" add column "two" int default 0 not null', []],
  ["an index", "create index on one (id)", []],
  ["a comment with such a word", "-- Nothing to drop here.\ncreate table three (id int)", []],
  ["a table that goes", "create table three (id int);\nDROP TABLE one", ["DROP TABLE one"]],
  ...[
    'alter table "one" drop column "id"',
    "alter table one rename to two",
    "alter table one alter column id type text",
    "alter table one alter column id set not null",
    "alter table one add column two int not null",
    "alter table one add constraint c check (id > 0)",
    "create unique index on one (id)",
  ].map((command): [string, string, string[]] => [command, command, [command]]),
];

test.each(commands)("The rule for steps that only add looks at %s", (_what, text, found) => {
  expect(removing(text)).toEqual(found);
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
      const broken = steps.with(1, {
        tag: "0001_two",
        kind: "expand",
        text: "create table two (id int); select 1 / 0",
      });
      expect(await failureOf(migrate(db, broken))).toBeInstanceOf(Error);
      expect(
        await query(db.api, sql`select to_regclass('one') is not null as one, to_regclass('two') is null as two`),
      ).toEqual([{ one: true, two: true }]);
      await migrate(db, steps);
      expect(await query(db.api, sql`select id from two`)).toEqual([{ id: 1 }]);
    });

    test("leave a schema as it is that has later steps, if they only add", async () => {
      await startAfresh();
      await migrate(db, steps);
      await migrate(db, steps.slice(0, 1));
      expect(await query(db.api, sql`select tag, kind from schema_steps order by step`)).toEqual([
        { tag: "0000_one", kind: "expand" },
        { tag: "0001_two", kind: "expand" },
      ]);
    });

    test("refuse a schema with a later step that removes", async () => {
      await startAfresh();
      await migrate(db, [...steps, contracting]);
      for (const older of [steps, steps.slice(0, 1)]) {
        expect(String(await failureOf(migrate(db, older)))).toContain(
          "Cannot use this database: its schema is newer than this inboxd (it has step 0002_three",
        );
      }
    });

    test("repeat a step that ended in a deadlock", async () => {
      await startAfresh();
      const failing = `do $$ begin if to_regclass('done') is null then raise deadlock_detected; end if; end $$;`;
      const deadlocked = steps.with(1, {
        tag: "0001_two",
        kind: "expand",
        text: `${failing} create table two (id int)`,
      });
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
      const altering = steps.with(1, { tag: "0001_two", kind: "expand", text: "alter table one add column two int" });
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
      const slow = steps.with(1, {
        tag: "0001_two",
        kind: "expand",
        text: "create table two (id int); select pg_sleep(60)",
      });
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

/** The commands of a step that remove something, or forbid something to programs that do not know the step. */
function removing(text: string): string[] {
  const commands = text
    .replaceAll(/--.*/g, "")
    .split(";")
    .map((command) => command.trim().replaceAll(/\s+/g, " "));
  return commands.filter((command) => removals.some((pattern) => pattern.test(command)));
}

const removals = [
  /\bdrop\b/i,
  /\brename\b/i,
  /\bset not null\b/i,
  /\balter column \S+ (?:set data )?type\b/i,
  /\badd column\b(?!.*\bdefault\b).*\bnot null\b/i,
  /\badd constraint\b/i,
  /\bcreate unique index\b/i,
];
