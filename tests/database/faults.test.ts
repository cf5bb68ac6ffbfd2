import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import {
  type Database,
  DatabaseUnavailable,
  type Db,
  openDatabase,
  query,
  transaction,
} from "../../src/database/db.ts";
import { breaksPostgres } from "../support/engines.ts";
import { failureOf } from "../support/failure.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { until, untilAnswered } from "../support/until.ts";
import { watchesClock } from "../support/watches-clock.ts";

if (!breaksPostgres) console.log("Skipped: the faults of a Postgres server, since this run has none of its own");

/** Short, so that what takes minutes in life takes a second here. */
const timeouts = { connectMs: 1_000, acquireMs: 1_000, lockMs: 400, statementMs: 600, deadlineMs: 800 };
const connections = { api: 5, mail: 2, work: 2 };

describe.if(breaksPostgres)("A Postgres that comes and goes", () => {
  let server: PostgresServer;
  let db: Database;

  beforeAll(async () => {
    server = await startPostgres(["restart_after_crash=on"]);
    await server.ask("create database ibx");
    db = await openDatabase({ url: server.url("ibx"), dataDir: "", timeouts, connections });
    // Each write puts a row in both tables, or in neither.
    await query(db.api, sql`create table one (id int primary key)`);
    await query(db.api, sql`create table two (id int primary key)`);
  });

  afterAll(async () => {
    await db?.close();
    await server?.remove();
  });

  test("backends that are killed again and again tear nothing, and end nothing but what they carried", async () => {
    const load = writeUnderLoad(db.api, 1_000_000);
    for (let kill = 0; kill < 15; kill++) {
      await load.someMoreWritten();
      await server.ask("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'ibx'");
    }
    const { kept, failures } = await load.stop();
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.filter((failure) => !(failure instanceof DatabaseUnavailable))).toEqual([]);
    await expectNothingTorn(kept);
    await expectConnectionsWithin(connections.api);
  });

  test("a transaction whose backend was killed runs nothing more", async () => {
    const torn = transaction(db.api, async (tx) => {
      await query(tx, sql`insert into one values (-1)`);
      const [backend] = await query<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`);
      await server.ask(`select pg_terminate_backend(${backend?.pid}, 5000)`);
      await query(tx, sql`insert into two values (-1)`);
    });
    expect(await failureOf(torn)).toBeInstanceOf(DatabaseUnavailable);
    await expectNothingTorn([]);
  });

  test("the driver outlives a statement on a dead connection, as patched", async () => {
    const program = join(import.meta.dir, "../support/dying-backend.ts");
    const child = Bun.spawn(["bun", program, server.url("ibx")], { stdout: "pipe", stderr: "pipe" });
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await new Response(child.stdout).text()).toBe("CONNECTION_CLOSED\n");
  });

  test("a server with too many connections turns some away and serves the others", async () => {
    await server.ask("create role crowd login connection limit 2");
    await server.ask("grant insert on one, two to crowd", "ibx");
    const url = server.url("ibx").replace("inboxd@", "crowd@");
    const crowded = await openDatabase({ url, dataDir: "", timeouts, connections });
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => write(crowded.api, 4_000_000 + n)));
    const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.filter((reason) => !(reason instanceof DatabaseUnavailable))).toEqual([]);
    await write(crowded.api, 4_000_100);
    await crowded.close();
  });

  test("a listener that was cut off listens again", async () => {
    const states: boolean[] = [];
    let changed = Promise.withResolvers<void>();
    let heard = Promise.withResolvers<string>();
    const stop = await db.listen(
      "bell",
      (payload) => heard.resolve(payload),
      (connected) => {
        states.push(connected);
        changed.resolve();
        changed = Promise.withResolvers<void>();
      },
    );
    await server.ask("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%'");
    while (states.length < 3) await changed.promise;
    expect(states).toEqual([true, false, true]);
    heard = Promise.withResolvers<string>();
    await query(db.api, sql`select pg_notify('bell', 'again')`);
    expect(await heard.promise).toBe("again");
    await stop();
  });

  test("a database that can't hold all mail is refused, and one that may lose it is warned of", async () => {
    await server.ask("create database latin encoding 'LATIN1' locale 'C' template template0");
    const refused = await failureOf(openDatabase({ url: server.url("latin"), dataDir: "", timeouts }));
    expect(String(refused)).toContain("its encoding is LATIN1");
    const warnings: string[] = [];
    await server.ask("create database hasty");
    await server.ask("alter database hasty set synchronous_commit = off");
    const hasty = await openDatabase({
      url: server.url("hasty"),
      dataDir: "",
      onWarning: (text) => warnings.push(text),
    });
    await hasty.close();
    expect(warnings.map((warning) => warning.split(" is off")[0])).toEqual(["synchronous_commit", "fsync"]);
  });

  test("a server that crashes and comes back is used again within two seconds", {
    ...watchesClock,
    timeout: 20_000,
  }, async () => {
    const load = writeUnderLoad(db.api, 2_000_000);
    await load.someMoreWritten();
    await server.stop();
    const refused = await failureOf(write(db.api, 2_900_000));
    expect(refused).toBeInstanceOf(DatabaseUnavailable);
    expect(await failureOf(answer())).toBeInstanceOf(DatabaseUnavailable);
    await server.start();
    expect(await untilWritten(db.api, 2_910_000)).toBeLessThan(2_000);
    const { kept } = await load.stop();
    await expectNothingTorn(kept);
  });

  test("a server that is frozen is given up by a deadline, and used again within two seconds of its return", {
    ...watchesClock,
    timeout: 20_000,
  }, async () => {
    const load = writeUnderLoad(db.api, 3_000_000);
    await load.someMoreWritten();
    server.freeze();
    const frozenAt = performance.now();
    const refused = await failureOf(write(db.api, 3_900_000));
    expect(refused).toBeInstanceOf(DatabaseUnavailable);
    expect(performance.now() - frozenAt).toBeLessThan(
      timeouts.acquireMs + timeouts.connectMs + timeouts.deadlineMs + 200,
    );
    const pingedAt = performance.now();
    expect(await failureOf(answer())).toBeInstanceOf(DatabaseUnavailable);
    expect(performance.now() - pingedAt).toBeLessThan(2_000);
    server.thaw();
    expect(await untilWritten(db.api, 3_910_000)).toBeLessThan(2_000);
    const { kept } = await load.stop();
    await expectNothingTorn(kept);
    await expectConnectionsWithin(connections.api + 1);
  });

  const answer = () => db.promptly((runner) => runner.run("select 1", []));

  async function expectNothingTorn(kept: readonly number[]): Promise<void> {
    const torn = await query<{ id: number }>(
      db.api,
      sql`select coalesce(one.id, two.id) as id from one full join two using (id) where one.id is null or two.id is null`,
    );
    expect(torn).toEqual([]);
    const found = new Set((await query<{ id: number }>(db.api, sql`select id from one`)).map(({ id }) => id));
    expect(kept.filter((id) => !found.has(id))).toEqual([]);
  }

  /** A connection that was given up ends on the server too: nothing is left behind. */
  async function expectConnectionsWithin(most: number): Promise<void> {
    const counted = await server.ask("select count(*)::int as n from pg_stat_activity where datname = 'ibx'");
    expect(Number(counted[0]?.n)).toBeLessThanOrEqual(most);
  }
});

test("A server that hangs up on the first words is not called again and again, as patched", async () => {
  let calls = 0;
  const socket = {
    data(connection: { end(): void }) {
      calls += 1;
      connection.end();
    },
  };
  using server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket });
  const opening = openDatabase({ url: `postgres://ibx@127.0.0.1:${server.port}/ibx`, dataDir: "", timeouts });
  expect(await failureOf(opening)).toBeInstanceOf(DatabaseUnavailable);
  expect(calls).toBe(1);
});

async function write(db: Db, id: number): Promise<void> {
  await transaction(db, async (tx) => {
    await query(tx, sql`insert into one values (${id})`);
    // Some are killed between their statements, when nothing is under way that could fail.
    if (id % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    await query(tx, sql`insert into two values (${id})`);
  });
}

/** Writes from more callers than there are connections, until it is stopped. */
function writeUnderLoad(db: Db, firstId: number) {
  const kept: number[] = [];
  const failures: unknown[] = [];
  let nextId = firstId;
  let stopped = false;
  const callers = Array.from({ length: 12 }, async () => {
    while (!stopped) {
      const id = nextId++;
      await write(db, id).then(
        () => kept.push(id),
        async (error) => {
          failures.push(error);
          // As a caller does, and so that twelve who are refused at once don't fill the processor and the list.
          await Bun.sleep(5);
        },
      );
    }
  });
  return {
    async someMoreWritten() {
      const before = kept.length;
      await until(() => kept.length >= before + 50);
    },
    async stop() {
      stopped = true;
      await Promise.all(callers);
      return { kept, failures };
    },
  };
}

/** Milliseconds until a write succeeds. */
async function untilWritten(db: Db, firstId: number): Promise<number> {
  const startedAt = performance.now();
  let id = firstId;
  await untilAnswered(() =>
    write(db, id++).then(
      () => true,
      () => undefined,
    ),
  );
  return performance.now() - startedAt;
}
