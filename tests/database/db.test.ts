import { heapStats } from "bun:jsc";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { sql } from "drizzle-orm";
import fc from "fast-check";
import {
  arrayOf,
  DatabaseUnavailable,
  type Db,
  jsonb,
  query,
  shownInstant,
  statement,
  transaction,
  violates,
} from "../../src/database/db.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";

const at = new Date("2026-03-21T10:05:00.123Z");
const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);
const awkward = ["", "NULL", 'a"b', "back\\slash", "{curly}", "a,b", "line\nbreak", "ünï 🎈", " space "];

for (const engine of enginesHere()) {
  describe(`The ${engine} database`, () => {
    let under: EngineUnderTest;
    let db: Db;

    beforeAll(async () => {
      under = await openEngine(engine, { connections: { api: 4 }, timeouts: { acquireMs: 1_500, promptlyMs: 300 } });
      db = under.db.api;
      await query(
        db,
        sql`create table notes (id text primary key, written_at timestamptz(3), is_read boolean, raw bytea, extra jsonb)`,
      );
    });

    afterAll(() => under?.remove());

    const values: [what: string, statement: ReturnType<typeof sql>, value: unknown][] = [
      ["text", sql`${awkward.join("|")}::text`, awkward.join("|")],
      ["a whole number", sql`${42}::int4`, 42],
      ["a count", sql`count(*)`, 1],
      ["a large number", sql`${9_007_199_254_740_991}::int8`, 9_007_199_254_740_991],
      ["a fraction", sql`${0.1}::float8`, 0.1],
      ["a boolean", sql`${false}::bool`, false],
      ["an instant", sql`${at}::timestamptz`, at],
      ["an instant before 1970", sql`${new Date(-1)}::timestamptz`, new Date(-1)],
      [
        "an instant of the first century",
        sql`${new Date("0044-03-15T10:00:00.000Z")}::timestamptz`,
        new Date("0044-03-15T10:00:00.000Z"),
      ],
      [
        "an instant with tenths",
        sql`${new Date("2026-12-31T23:59:59.900Z")}::timestamptz`,
        new Date("2026-12-31T23:59:59.900Z"),
      ],
      ["bytes", sql`${everyByte}::bytea`, everyByte],
      ["no bytes", sql`${new Uint8Array()}::bytea`, new Uint8Array()],
      ["JSON", sql`${jsonb({ a: [1, null, "x"] })}`, { a: [1, null, "x"] }],
      ["nothing", sql`${null}::text`, null],
      ["texts", arrayOf("text", [...awkward, null]), [...awkward, null]],
      ["instants", arrayOf("timestamptz", [at, null]), [at, null]],
      ["byte strings", arrayOf("bytea", [everyByte, null, new Uint8Array()]), [everyByte, null, new Uint8Array()]],
      ["numbers", arrayOf("int8", [1, -2]), [1, -2]],
      ["booleans", arrayOf("bool", [true, false, null]), [true, false, null]],
      ["JSON values", arrayOf("jsonb", [{ a: 'q"' }, { b: [] }]), [{ a: 'q"' }, { b: [] }]],
      ["no texts", arrayOf("text", []), []],
      ["no byte strings", arrayOf("bytea", []), []],
    ];
    test.each(values)("gives back %s as it was given", async (_, statement, value) => {
      const rows = await query<{ value: unknown }>(db, sql`select ${statement} as value`);
      expect(rows).toEqual([{ value }]);
    });

    test("gives back rows of any values, of any length and script, beside each other", async () => {
      // Lengths around those whose bytes are no letters of ASCII, and beyond what is read at once.
      const length = fc.constantFrom(0, 1, 99, 126, 127, 128, 129, 200, 255, 256, 300, 33_000);
      const text = fc
        .tuple(fc.constantFrom("a", "ü", "🎈", "\u0080", "\u007f"), length)
        .map(([letter, count]) => letter.repeat(count));
      const row = fc.record({ a: fc.option(text), b: fc.option(text), c: fc.option(fc.integer()), d: fc.option(text) });
      await fc.assert(
        fc.asyncProperty(fc.array(row, { maxLength: 12 }), async (rows) => {
          const told = await query(
            db,
            sql`select a, b, c, d from json_to_recordset(${JSON.stringify(rows)}::json) as row (a text, b text, c int, d text)`,
          );
          expect(told).toEqual(rows);
        }),
        { numRuns: 60 },
      );
    });

    test("gives back bytes of any length each time that a statement is run, beside other values", async () => {
      const lengths = [0, 1, 127, 40_000, 65_535, 65_536, 1 << 20];
      const raws = [...lengths.map((length) => new Uint8Array(length).map((_, at) => at * 7 + (at >> 8))), null];
      const told = await transaction(db, (tx) =>
        // On one connection: a driver may read the first run of a statement in another way than those that follow.
        Promise.all(
          [raws, raws, [], raws.slice(0, 3), raws].map((asked) =>
            query(
              tx,
              sql`select place, 'ünï 🎈' || place as text, raw, null as nothing, array[raw] as raws
                  from unnest(${arrayOf("bytea", asked)}) with ordinality as row (raw, place) order by place`,
            ),
          ),
        ),
      );
      const rows = raws.map((raw, index) => ({
        place: index + 1,
        text: `ünï 🎈${index + 1}`,
        raw,
        nothing: null,
        raws: [raw],
      }));
      expect(told).toEqual([rows, rows, [], rows.slice(0, 3), rows]);
    });

    test.each([
      "2026-03-21T10:05:00.123Z",
      "2026-12-31T23:59:59.900Z",
      "2026-01-01T00:00:00.020Z",
      "1969-12-31T23:59:59.000Z",
      "0044-03-15T10:00:00.000Z",
    ])("shows the instant %s as JavaScript does", async (text) => {
      const [row] = await query<{ text: string }>(db, sql`select ${new Date(text)}::timestamptz(3)::text as text`);
      expect(shownInstant(row?.text ?? "")).toBe(text);
    });

    test("carries out a statement that is rendered once with other values each time", async () => {
      const added = statement<{ sum: number }>(
        sql`select ${sql.placeholder("one")}::int + ${sql.placeholder("other")}::int as sum`,
      );
      expect(await added(db, { one: 1, other: 2 })).toEqual([{ sum: 3 }]);
      const inside = await transaction(db, (tx) => added(tx, { one: 4, other: 5 }));
      expect(inside).toEqual([{ sum: 9 }]);
    });

    test("takes names, and refuses what is neither a value nor SQL", async () => {
      const column = sql.identifier('odd "name"');
      expect(await query(db, sql`select ${1}::int as ${column}`)).toEqual([{ 'odd "name"': 1 }]);
      for (const wrong of [undefined, ["a", "b"], { a: 1 }, () => "a"]) {
        expect(String(await failureOf(query(db, sql`select ${wrong}`)))).toContain("Cannot render a statement");
      }
    });

    test("takes many rows in one statement", async () => {
      const ids = Array.from({ length: 200 }, (_, n) => `many-${n}`);
      const raws = ids.map((id) => new TextEncoder().encode(id));
      await query(
        db,
        sql`insert into notes (id, written_at, raw)
            select * from unnest(${arrayOf("text", ids)}, ${arrayOf(
              "timestamptz",
              ids.map(() => at),
            )}, ${arrayOf("bytea", raws)})`,
      );
      const [counted] = await query<{ n: number }>(
        db,
        sql`select count(*) as n from notes where id like 'many-%' and convert_from(raw, 'UTF8') = id and written_at = ${at}`,
      );
      expect(counted?.n).toBe(200);
    });

    test("keeps all of a transaction or nothing", async () => {
      const failure = new Error("changed my mind");
      const abandoned = transaction(db, async (tx) => {
        await query(tx, sql`insert into notes (id) values ('abandoned')`);
        throw failure;
      });
      expect(await failureOf(abandoned)).toBe(failure);
      expect(await idsLike("abandoned")).toEqual([]);
      await transaction(db, async (tx) => {
        await query(tx, sql`insert into notes (id) values ('kept-1')`);
        await query(tx, sql`insert into notes (id) values ('kept-2')`);
      });
      expect(await idsLike("kept-%")).toEqual(["kept-1", "kept-2"]);
    });

    test("undoes an inner transaction alone", async () => {
      await transaction(db, async (tx) => {
        await query(tx, sql`insert into notes (id) values ('outer')`);
        const inner = transaction(tx, async (nested) => {
          await query(nested, sql`insert into notes (id) values ('outer-inner')`);
          await query(nested, sql`select 1 / 0`);
        });
        await inner.catch(() => undefined);
        await query(tx, sql`insert into notes (id) values ('outer-after')`);
      });
      expect(await idsLike("outer%")).toEqual(["outer", "outer-after"]);
    });

    test("runs nothing of a transaction that is over", async () => {
      let escaped: Db | undefined;
      const failed = transaction(db, async (tx) => {
        escaped = tx;
        await query(tx, sql`insert into nowhere values (1)`);
      });
      expect(String(await failureOf(failed))).toContain("nowhere");
      if (!escaped) throw new Error("no transaction");
      expect(String(await failureOf(query(escaped, sql`insert into notes (id) values ('late')`)))).toContain(
        "transaction is over",
      );
      expect(await idsLike("late")).toEqual([]);
    });

    test("says so when a transaction whose failure was swallowed is not kept", async () => {
      const swallowed = transaction(db, async (tx) => {
        await query(tx, sql`insert into notes (id) values ('swallowed')`);
        await query(tx, sql`select 1 / 0`).catch(() => undefined);
      });
      expect(String(await failureOf(swallowed))).toContain("Cannot commit");
      expect(await idsLike("swallowed")).toEqual([]);
    });

    test("never mixes the statements of transactions that run at once", async () => {
      await query(db, sql`create table tally (n int)`);
      await query(db, sql`insert into tally values (0)`);
      const steps = Array.from({ length: 20 }, () =>
        transaction(db, async (tx) => {
          const [row] = await query<{ n: number }>(tx, sql`select n from tally for update`);
          await query(tx, sql`update tally set n = ${(row?.n ?? 0) + 1}`);
        }),
      );
      await Promise.all(steps);
      expect(await query(db, sql`select n from tally`)).toEqual([{ n: 20 }]);
    });

    test("shows no value of a statement in its error", async () => {
      await query(db, sql`insert into notes (id) values ('n1')`);
      const failed = query(
        db,
        sql`insert into notes (id, raw) values ('n1', ${new TextEncoder().encode("canary-value")})`,
      );
      const error = await failureOf(failed);
      expect(String(error)).not.toContain("canary");
      expect(Bun.inspect(error)).not.toContain("canary");
      const unfit = await failureOf(query(db, sql`select ${"canary-value"}::int4`));
      expect(Bun.inspect(unfit)).not.toContain("canary");
    });

    test("names the constraint that was violated", async () => {
      const doubled = query(db, sql`insert into notes (id) values ('double'), ('double')`);
      const error = await failureOf(doubled);
      expect(violates(error, "notes_pkey")).toBe(true);
      expect(violates(error, "another")).toBe(false);
    });

    test("keeps nothing of a statement that failed", async () => {
      const keptAfter = async (failures: number) => {
        for (let count = 0; count < failures; count++) await failureOf(query(db, sql`select 1 from nowhere`));
        Bun.gc(true);
        return heapStats().objectTypeCounts.Array ?? 0;
      };
      const early = await keptAfter(20);
      expect((await keptAfter(300)) - early).toBeLessThan(150);
    });

    test("brings notifications to whoever listens", async () => {
      const heard: string[] = [];
      const states: boolean[] = [];
      const arrived = Promise.withResolvers<void>();
      const stop = await under.db.listen(
        "door bell",
        (payload) => {
          heard.push(payload);
          arrived.resolve();
        },
        (connected) => states.push(connected),
      );
      await query(db, sql`select pg_notify('door bell', 'ding')`);
      await arrived.promise;
      await stop();
      expect(heard).toEqual(["ding"]);
      expect(states[0]).toBe(true);
    });

    test("does at once what must be prompt, or throws", async () => {
      await under.db.promptly((runner) => runner.run("select 1", []));
      expect(await failureOf(under.db.promptly(() => new Promise(() => undefined)))).toBeInstanceOf(
        DatabaseUnavailable,
      );
    });

    test("refuses whoever waits too long for a connection", async () => {
      const held = Promise.withResolvers<void>();
      const holders = Array.from({ length: engine === "embedded" ? 1 : 4 }, () => transaction(db, () => held.promise));
      expect(await failureOf(transaction(db, async () => undefined))).toBeInstanceOf(DatabaseUnavailable);
      held.resolve();
      await Promise.all(holders);
    });

    test.if(engine === "postgres")("prepares each statement once per connection", async () => {
      const statement = (n: number) => query<{ n: number }>(db, sql`select ${n}::int as n, 'prepared once' as mark`);
      for (let n = 0; n < 5; n++) await statement(n);
      await transaction(db, async (tx) => {
        const [counted] = await query<{ n: number }>(
          tx,
          sql`select count(*) as n from pg_prepared_statements where statement like '%prepared once%' and statement not like '%pg_prepared%'`,
        );
        expect(counted?.n).toBeLessThanOrEqual(1);
      });
    });

    test.if(engine === "postgres")("keeps the connection of long work, however old it is", async () => {
      const pidOf = async (of: Db) => (await query<{ pid: number }>(of, sql`select pg_backend_pid() as pid`))[0]?.pid;
      await under.db.maintain(async (own) => {
        const pids = [await pidOf(own), await pidOf(db)];
        const now = performance.now.bind(performance);
        const clock = spyOn(performance, "now").mockImplementation(() => now() + 3_600_000);
        try {
          // An old connection still answers once, and is closed then.
          expect([await pidOf(own), await pidOf(db)]).toEqual(pids);
          const [ownPid, pid] = [await pidOf(own), await pidOf(db)];
          expect(ownPid).toBe(pids[0]);
          expect(pid).not.toBe(pids[1]);
        } finally {
          clock.mockRestore();
        }
      });
    });

    async function idsLike(pattern: string): Promise<string[]> {
      const rows = await query<{ id: string }>(db, sql`select id from notes where id like ${pattern} order by id`);
      return rows.map(({ id }) => id);
    }
  });
}
