import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { checkDatabase } from "../../src/commands/doctor/database.ts";
import { type Database, openDatabase, query, settingNames } from "../../src/database/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { type EmptyDatabase, emptyDatabase } from "../support/database.ts";
import { enginesHere } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { asInDocs, hasPgBouncer, type PgBouncer, startPgBouncer } from "../support/pgbouncer.ts";

describe.if(enginesHere().includes("postgres") && hasPgBouncer)("A PgBouncer before the database", () => {
  let made: EmptyDatabase;
  const ignored = `ignore_startup_parameters = ${settingNames.join(",")}`;

  beforeAll(async () => {
    made = await emptyDatabase();
  });
  afterAll(() => made?.drop());

  async function behind<T>(settings: readonly string[], work: (bouncer: PgBouncer) => Promise<T>): Promise<T> {
    const bouncer = await startPgBouncer(made.url, settings);
    return work(bouncer).finally(bouncer.stop);
  }

  const seenByDoctor = async (databaseUrl: string) => {
    const question = {
      isAuthenticating: false,
      databaseUrl,
      dataDir: "",
      processes: 1,
      now: () => new Date(),
      askServer: () => Promise.reject(new Error()),
    };
    return (await checkDatabase(question)).findings;
  };

  test("that refuses our settings is told of with what to set there", () =>
    behind(["pool_mode = session"], async ({ url }) => {
      const refused = String(await failureOf(openDatabase({ url, dataDir: "" })));
      expect(refused).toContain("unsupported startup parameter: ");
      const list = /set ignore_startup_parameters = (\S+) and pool_mode = session/.exec(refused)?.[1] ?? "";
      await behind(["pool_mode = session", `ignore_startup_parameters = ${list}`], async (told) => {
        const db = await openDatabase({ url: told.url, dataDir: "" });
        // Each of the pools has settings of its own.
        for (const each of [db.api, db.mail, db.work])
          expect(await query(each, sql`select 1 as one`)).toEqual([{ one: 1 }]);
        await migrate(db);
        await db.close();
      });
      expect(await seenByDoctor(url)).toMatchObject([{ level: "fail", seen: expect.stringContaining(list) }]);
    }));

  test.each([
    ["that which came back last", ["pool_mode = transaction"]],
    ["in turn", ["pool_mode = transaction", "server_round_robin = 1"]],
    ["of which there is one", ["pool_mode = transaction", "default_pool_size = 1"]],
    ["swept after each transaction", ["pool_mode = transaction", "server_reset_query_always = 1"]],
    ["statement by statement", ["pool_mode = statement"]],
  ])("that gives sessions to several clients is refused at the start: %s", (_how, settings) =>
    behind([...settings, ignored], async ({ url }) => {
      for (let start = 0; start < 5; start++) {
        const refused = String(await failureOf(openDatabase({ url, dataDir: "" })));
        expect(refused).toContain("shares one session between several clients");
      }
      expect(await seenByDoctor(url)).toMatchObject([{ level: "fail", seen: expect.stringContaining("pool_mode") }]);
    }),
  );

  test("in transaction mode answers each of many long statements at once with its own rows", () =>
    behind(asInDocs, async ({ url }) => {
      const options = {
        url,
        directUrl: made.url,
        dataDir: "",
        connections: { api: 4 },
        timeouts: { deadlineMs: 5_000 },
      };
      const clients = await Promise.all(Array.from({ length: 3 }, () => openDatabase(options)));
      // Longer than a buffer of PgBouncer, so that it passes them on in parts.
      const comment = sql.raw(`/* ${"long ".repeat(1_000)} */`);
      const text = "text ".repeat(2_000);
      const ask = ({ api }: Database, number: number) =>
        query(
          api,
          sql`select ${comment} ${text}::text as text, ${number}::int4 as ${sql.identifier(`n${number % 5}`)}`,
        );
      try {
        for (let round = 0; round < 20; round++) {
          const numbers = Array.from({ length: 20 }, (_, index) => round * 20 + index);
          const rows = await Promise.all(clients.map((db) => Promise.all(numbers.map((number) => ask(db, number)))));
          const own = numbers.map((number) => [{ text, [`n${number % 5}`]: number }]);
          expect(rows).toEqual(clients.map(() => own));
        }
      } finally {
        await Promise.all(clients.map((db) => db.close()));
      }
    }));
});
