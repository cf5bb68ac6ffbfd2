import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { checkDatabase } from "../../src/commands/doctor/database.ts";
import { type Database, openDatabase, query } from "../../src/database/db.ts";
import { DatabaseUnavailable, readOnly } from "../../src/database/unavailable.ts";
import { readiness } from "../../src/flows/readiness.ts";
import { migrate } from "../../src/store/migrate.ts";
import { breaksPostgres } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { runInboxd } from "../support/inboxd.ts";
import { hasPgBouncer, type PgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { untilAnswered } from "../support/until.ts";

// A balancer leads to a standby for moments of a failover, and a standby may lack the last commits.
describe.if(breaksPostgres)("A Postgres that has become a standby", () => {
  let server: PostgresServer;
  let bouncer: PgBouncer | undefined;
  let db: Database;
  let pooled: Database | undefined;

  beforeAll(async () => {
    server = await startPostgres();
    await server.ask("create database ibx");
    const url = server.url("ibx");
    bouncer = hasPgBouncer
      ? await startPgBouncer(url, ["pool_mode = transaction", "server_login_retry = 1"])
      : undefined;
    db = await openDatabase({ url, dataDir: "" });
    pooled =
      bouncer &&
      (await openDatabase({ url: bouncer.url, directUrl: url, dataDir: "", timeouts: { deadlineMs: 1_500 } }));
    for (const each of [db, pooled]) if (each) await ask(each);
    await migrate(db);
    await server.becomeStandby();
  });
  afterAll(async () => {
    await db?.close();
    await pooled?.close();
    await bouncer?.stop();
    await server?.remove();
  });

  const ask = (database: Database) => query(database.api, sql`select 1 as one`);

  test("is refused, though it would answer", async () => {
    expect(await server.ask("select 1 as one", "ibx")).toEqual([{ one: 1 }]);
    // The first attempt may find a connection to what it was.
    await failureOf(ask(db));
    const refused = { message: "Cannot reach the database: the server is a standby", sqlState: readOnly };
    expect(await failureOf(ask(db))).toMatchObject(refused);
    expect(await failureOf(openDatabase({ url: server.url("ibx"), dataDir: "" }))).toMatchObject(refused);
    expect(await readiness(db)()).toEqual({ ready: false, reason: "the database is read-only: a standby, or set so" });
  });

  test("is refused by a PgBouncer whose new sessions ask for it", async () => {
    if (pooled === undefined) return;
    // PgBouncer connects once a second, and each of its sessions ends itself before a client gets it.
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await failureOf(ask(pooled))).toBeInstanceOf(DatabaseUnavailable);
  });

  test("is shown by the doctor", async () => {
    const { findings } = await checkDatabase({
      isAuthenticating: false,
      databaseUrl: server.url("ibx"),
      dataDir: "",
      processes: 1,
      now: () => new Date(),
      askServer: () => Promise.reject(new Error()),
    });
    expect(findings).toContainEqual(
      expect.objectContaining({ level: "fail", seen: expect.stringContaining("standby") }),
    );
  });

  test("has all data for an export, but not that of an account, which is written into its audit", async () => {
    const env = { DATABASE_URL: server.url("ibx") };
    const { code, stdout, stderr } = await runInboxd(["export", "-"], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("rows") });
    expect(stdout.trim().split("\n").length).toBeGreaterThan(1);
    const ofAccount = await runInboxd(["export", "-", "--account", "acme"], { env });
    expect(ofAccount).toMatchObject({ code: 1, stderr: expect.stringContaining("the server is a standby") });
  });

  test("is used as soon as it is the primary", async () => {
    await server.ask("select pg_promote()");
    for (const each of [db, pooled]) {
      if (each) expect(await untilAnswered(() => ask(each).catch(() => undefined))).toEqual([{ one: 1 }]);
    }
  });
});
