import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { type Database, openDatabase, query, transaction } from "../../src/database/db.ts";
import { readiness } from "../../src/flows/readiness.ts";
import { migrate } from "../../src/store/migrate.ts";
import { tryToWrite } from "../../src/store/upkeep/readiness.ts";
import { enginesHere, openEngine } from "../support/engines.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { until, untilAnswered } from "../support/until.ts";

for (const engine of enginesHere()) {
  describe(`Readiness (${engine})`, () => {
    const under = setUpEngine(engine);

    const look = (db: Database = under.db) => readiness(db)();

    test("is looked at once for all who ask within a second", async () => {
      let looks = 0;
      const counted: Database = {
        ...under.db,
        promptly(work) {
          looks += 1;
          return under.db.promptly(work);
        },
      };
      const isReady = readiness(counted);
      expect(await Promise.all(Array.from({ length: 50 }, isReady))).toContainEqual({ ready: true });
      await isReady();
      expect(looks).toBe(1);
    });

    test("is a write that reaches the log and leaves nothing behind", async () => {
      const state = async () => {
        const [row] = await query<{ row: string; log: string }>(
          under.db.api,
          sql`select xmin::text || ctid::text as row, pg_current_wal_insert_lsn()::text as log from schema_steps where step = 0`,
        );
        return row;
      };
      const before = await state();
      for (let write = 0; write < 3; write++) await under.db.promptly(tryToWrite);
      const after = await state();
      expect(after?.row).toBe(before?.row ?? "");
      expect(after?.log).not.toBe(before?.log ?? "");
    });

    test("says of a database that is locked that it does not answer in time", async () => {
      const slow = await openEngine(engine, { timeouts: { promptlyMs: 100 } });
      try {
        await migrate(slow.db);
        const isReady = readiness(slow.db);
        const holding = Promise.withResolvers<void>();
        const held = Promise.withResolvers<void>();
        const holder = transaction(slow.db.work, async (tx) => {
          await query(tx, sql`lock table schema_steps in access exclusive mode`);
          held.resolve();
          await holding.promise;
        });
        await held.promise;
        const late = { ready: false, reason: "the database does not answer in time" };
        // The commits of its migration are a second old by then.
        expect(await untilAnswered(async () => ((await isReady()).ready ? undefined : isReady()))).toEqual(late);
        holding.resolve();
        await holder;
        await untilAnswered(async () => ((await isReady()).ready ? true : undefined));
      } finally {
        await slow.remove();
      }
    }, 20_000);

    test.if(engine === "embedded")(
      "is not doubted while others commit, however long its own write waits behind them",
      async () => {
        const busy = await openEngine(engine, { timeouts: { promptlyMs: 100 } });
        try {
          await migrate(busy.db);
          const isReady = readiness(busy.db);
          let isOver = false;
          const callers = Array.from({ length: 100 }, async () => {
            while (!isOver) await query(busy.db.api, sql`update schema_steps set done_at = now()`);
          });
          const seen = new Set<string>();
          for (let look = 0; look < 3; look++) {
            const looking = isReady();
            seen.add(JSON.stringify(await looking));
            // The same promise is returned for a second.
            await until(() => isReady() !== looking);
          }
          isOver = true;
          await Promise.all(callers);
          expect([...seen]).toEqual(['{"ready":true}']);
        } finally {
          await busy.remove();
        }
      },
      30_000,
    );

    // Last, since each of them leaves the database unfit.
    test.if(engine === "postgres")("is refused by a server that is read-only, as a standby is", async () => {
      const [row] = await query<{ name: string }>(under.db.api, sql`select current_database() as name`);
      const settings = sql`alter database ${sql.identifier(row?.name ?? "")}`;
      await query(under.db.api, sql`${settings} set default_transaction_read_only = on`);
      // In force for new connections: the one that looks hasn't looked yet.
      const readOnly = await openDatabase(under.options);
      expect(await look(readOnly)).toEqual({
        ready: false,
        reason: "the database is read-only: a standby, or set so",
      });
      await readOnly.close();
      await query(under.db.api, sql`${settings} reset default_transaction_read_only`);
    });

    test("is refused by a database that is not migrated", async () => {
      await query(under.db.api, sql`drop schema public cascade`);
      await query(under.db.api, sql`create schema public`);
      expect(await look()).toEqual({ ready: false, reason: "the database is not migrated" });
    });
  });
}
