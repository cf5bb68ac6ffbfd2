/**
 * Deliveries of webhooks, measured on a Postgres of its own against graphile-worker in the same run:
 *
 *     bun bench/webhooks.ts
 *
 * DATABASE=embedded measures ours alone on the embedded database.
 *
 * Both tell a local receiver, in a process of its own, of the same number of events with the same signature; ours also
 * writes a row into the log for each. Then ours once more with a million finished deliveries in the log, and the time
 * from commit to the first byte at an idle receiver. The ratios hold on any machine; the figures don't.
 */

import { tmpdir } from "node:os";
import { sql } from "drizzle-orm";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pino from "pino";
import { type Database, openDatabase, query, type Timeouts } from "../src/database/db.ts";
import { webhookScheduleSeconds } from "../src/domain/backoff.ts";
import { idMaker } from "../src/domain/ids.ts";
import { perPlan } from "../src/domain/limits.ts";
import { localChanges } from "../src/flows/changes.ts";
import { ownHosts } from "../src/flows/own-hosts.ts";
import { attachmentLinks } from "../src/flows/read/attachment-links.ts";
import { webhookHeaders, webhookSigner } from "../src/standards/signature.ts";
import { migrate } from "../src/store/migrate.ts";
import { webhookClient } from "../src/webhook/client.ts";
import { startWorkers, type WorkerDeps } from "../src/workers/scheduler.ts";
import { noLimits } from "../tests/support/limits.ts";
import { plainSealing } from "../tests/support/plain-sealing.ts";
import { type BenchDatabase, onEngine, startDatabase } from "./support/database.ts";
import { percentile } from "./support/load.ts";
import { cpuMs } from "./support/process-usage.ts";
import { report } from "./support/report.ts";

const events = Number(process.env.EVENTS ?? 30_000);
const rounds = Number(process.env.ROUNDS ?? 5);
const oldDeliveries = Number(process.env.OLD_DELIVERIES ?? 1_000_000);
const accounts = Number(process.env.ACCOUNTS ?? 10);
const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD4VOGAZ0ExAm=";
const text = "It is on its way. ".repeat(40);

/** Filling tables takes longer than the service's time limits. */
const unhurried = { statementMs: 600_000, deadlineMs: 600_000 };
const silent = new Logger(() => () => undefined);

const [mode = "bench", address = ""] = process.argv.slice(2);
if (mode === "receiver") serveReceiver();
else if (mode === "prepare") await withDatabase(prepare, unhurried);
else if (mode === "ours") await withDatabase(deliverAll);
else if (mode === "latency") await withDatabase(measureLatency);
else if (mode === "graphile") await runGraphile(address);
else await bench();

async function bench(): Promise<void> {
  const database = await startDatabase(["shared_buffers=256MB", "max_wal_size=2GB"]);
  // The parts run as processes on this database; the embedded one allows one process at a time.
  Object.assign(process.env, { DATABASE_URL: database.url ?? "", DATA_DIR: database.dataDir });
  const receiving = await child("receiver");
  const receiver = receiving.said;
  try {
    await withDatabase((db) => makeAccounts(db, receiver));
    const ours: Measured[] = [];
    const theirs: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await withDatabase(makeEvents, unhurried);
      ours.push(await measured(database, "ours"));
      if (database.engine === "postgres") theirs.push(await measured(database, "graphile", receiver));
    }
    const own = middle(ours);
    const graphile = theirs.length > 0 ? middle(theirs) : undefined;
    report({
      what: `deliveries, a log row each${onEngine}`,
      value: own.perSecond,
      unit: "deliveries/s",
      beside: graphile ? [{ name: "graphile-worker, no log row", value: graphile.perSecond }] : [],
      target: graphile ? { ratio: { atLeast: 4 }, value: { atLeast: 8000 } } : {},
      note: `CPU of each: ${shown(own, database)}${graphile ? `; graphile-worker: ${shown(graphile, database)}` : ""}`,
    });

    // The embedded database would take minutes to fill.
    if (database.engine === "postgres") await besideOldDeliveries(database, own);
    const idle = await child("latency");
    await idle.process.exited;
    const [p50 = 0, p99 = 0] = idle.said.split(" ").map(Number);
    report({
      what: `from commit to the first byte at an idle receiver, p50${onEngine}`,
      value: p50,
      unit: "ms",
      target: { value: { atMost: 10 } },
      note: `p99 ${p99.toFixed(1)} ms`,
    });
  } finally {
    receiving.process.kill();
    await database.remove();
  }
}

async function besideOldDeliveries(database: BenchDatabase, empty: Measured): Promise<void> {
  const old = sql`insert into deliveries (event_id, lane, attempt, attempted_at, status, latency_ms, response)
    select 'evt_1' || lpad(n::text, 25, '0'), 'acc_1' || lpad(n::text, 25, '0'), 1, now(), 200, 5, 'ok' from generate_series(1, ${oldDeliveries}::int) n`;
  await withDatabase(async (db) => {
    await query(db.api, old);
    // A log that has grown over days has been vacuumed and flushed. Without this, both would happen in the middle of the measurement.
    await query(db.api, sql`vacuum (analyze) deliveries`);
    await query(db.api, sql`checkpoint`);
  }, unhurried);
  const full: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await withDatabase(makeEvents, unhurried);
    full.push(await measured(database, "ours"));
  }
  const withLog = middle(full);
  report({
    what: `deliveries with ${oldDeliveries} in the log`,
    value: withLog.perSecond,
    unit: "deliveries/s",
    beside: [{ name: "with an empty log", value: empty.perSecond }],
    target: { ratio: { atLeast: 0.95 } },
    note: `CPU of each: ${shown(withLog, database)}`,
  });
}

/** On the database of the environment. */
async function withDatabase(work: (db: Database) => Promise<unknown>, timeouts: Partial<Timeouts> = {}): Promise<void> {
  const url = process.env.DATABASE_URL || undefined;
  const db = await openDatabase({ url, dataDir: process.env.DATA_DIR ?? "", timeouts });
  try {
    await work(db);
  } finally {
    await db.close();
  }
}

/** For bench/profile.ts: everything that `ours` needs, with a receiver's address. */
async function prepare(db: Database): Promise<void> {
  await makeAccounts(db, address);
  await makeEvents(db);
}

interface Measured {
  perSecond: number;
  /** Microseconds of the worker's process and of Postgres for each delivery, which are steadier than the rate on a busy machine. */
  workerCpu: number;
  postgresCpu: number;
}

/** Runs a worker to its end and measures it from outside the database's clients. */
async function measured({ pid }: BenchDatabase, ...args: string[]): Promise<Measured> {
  const postgresMs = () => (pid === undefined ? 0 : cpuMs(pid));
  const beforeMs = postgresMs();
  const worker = await child(...args);
  const [perSecond = 0, workerCpu = 0] = worker.said.split(" ").map(Number);
  const postgresCpu = ((postgresMs() - beforeMs) * 1000) / events;
  // The next process may have to wait for the database.
  if ((await worker.process.exited) !== 0) throw new Error(`Cannot measure: ${args[0]} failed`);
  return { perSecond, workerCpu, postgresCpu };
}

function shown({ workerCpu, postgresCpu }: Measured, { pid }: BenchDatabase): string {
  return `${workerCpu.toFixed(0)} µs${pid === undefined ? "" : ` + Postgres ${postgresCpu.toFixed(0)} µs`}`;
}

/** Runs one part as a process; `said` is its first line. */
async function child(...args: string[]) {
  const command = [process.execPath, import.meta.path, ...args];
  const process_ = Bun.spawn(command, { env: { ...process.env }, stdout: "pipe", stderr: "inherit" });
  let said = "";
  for await (const chunk of process_.stdout) {
    said += new TextDecoder().decode(chunk);
    if (said.includes("\n")) break;
  }
  return { process: process_, said: said.trim() };
}

/** Answers at once. */
function serveReceiver(): void {
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("ok") });
  console.log(`http://127.0.0.1:${server.port}/hook`);
}

async function makeAccounts(db: Database, address: string): Promise<void> {
  await migrate(db);
  await query(
    db.api,
    sql`with made as (
          insert into accounts (id, name, plan, created_at)
          select 'acc_' || lpad(n::text, 26, '0'), 'bench ' || n, 'developer', now() from generate_series(1, ${accounts}::int) n returning id
        )
        insert into endpoints (id, account_id, is_default, url, secret, created_at, event_types, skip_automated, include)
        select 'whk_' || right(id, 26), id, true, ${address}, ${secret}, now(), '{message.received}', false, '{}' from made`,
  );
  await query(
    db.api,
    sql`insert into inboxes (id, account_id, username, external_id, created_at)
        select 'inb_' || lpad(n::text, 26, '0'), 'acc_' || lpad((1 + n % ${accounts}::int)::text, 26, '0'), 'box' || n, 'user-7', now()
        from generate_series(1, 1000) n`,
  );
}

/** Queued events of received mails. */
async function makeEvents(db: Database): Promise<void> {
  await query(db.api, sql`truncate messages, events, outbox`);
  const numbered = sql`select n, lpad(n::text, 26, '0') as id, lpad((1 + n % 1000)::text, 26, '0') as inbox,
    lpad((1 + (1 + n % 1000) % ${accounts}::int)::text, 26, '0') as account from generate_series(1, ${events}::int) n`;
  await query(
    db.api,
    sql`insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
          message_id_hash, from_addr, to_addr, to_addrs, cc, subject, body_text, size_bytes, attachment_count)
        select 'msg_' || id, 'inb_' || inbox, 'thr_' || id, n, 'inbound', n, 'received', now(), id || '@mail.example',
          gen_random_uuid(), 'jane@mail.example', 'bot@inbox.localhost', '{bot@inbox.localhost}', '{}', 'Hello', ${text}, 500, 0 from (${numbered}) numbered`,
  );
  await query(
    db.api,
    sql`insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
        select 'evt_' || id, 'acc_' || account, 'inb_' || inbox, 'thr_' || id, 'msg_' || id, 'message.received', now()
        from (${numbered}) numbered`,
  );
  await query(db.api, sql`delete from deliveries where event_id in (select id from events)`);
  await query(
    db.api,
    sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, event_id, due_at, created_at)
        select 'evt_' || id, 'webhook', 'acc_' || account, 'inb_' || inbox, 'acc_' || account, 'evt_' || id, now(), now()
        from (${numbered}) numbered`,
  );
  await query(db.api, sql`analyze messages`);
}

/** One process of the service with its workers alone; returns its deliveries a second. */
async function deliverAll(db: Database): Promise<void> {
  const startedMs = performance.now();
  const workers = await startWorkers(await workerDeps(db));
  for (;;) {
    const [row] = await query<{ left: number }>(db.api, sql`select 1 as left from outbox limit 1`);
    if (row === undefined) break;
    // A shorter pause would cost Postgres some µs a delivery, since each look passes the deleted rows.
    await Bun.sleep(25);
  }
  sayResult(startedMs);
  await workers.stop(1000);
}

/** From an event's commit to its arrival at an idle receiver in this process. */
async function measureLatency(db: Database): Promise<void> {
  let arrived = (_: number): void => undefined;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      arrived(performance.now());
      return new Response("ok");
    },
  });
  await query(db.api, sql`truncate outbox`);
  await query(db.api, sql`update endpoints set url = ${`http://127.0.0.1:${server.port}/`}`);
  const workers = await startWorkers(await workerDeps(db));
  const latencies: number[] = [];
  for (let number = 1; number <= 200; number += 1) {
    const id = String(number).padStart(26, "0");
    const arrival = new Promise<number>((resolve) => {
      arrived = resolve;
    });
    await query(
      db.api,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, event_id, due_at, created_at)
          select id, 'webhook', account_id, inbox_id, account_id, id, now(), now() from events where id = ${`evt_${id}`}`,
    );
    const committedMs = performance.now();
    workers.nudge("webhook");
    latencies.push((await arrival) - committedMs);
    await Bun.sleep(5);
  }
  const sorted = latencies.slice(20).sort((one, other) => one - other);
  console.log(`${percentile(sorted, 0.5)} ${percentile(sorted, 0.99)}`);
  await workers.stop(1000);
  await server.stop(true);
}

/** The same number of signed fetches as jobs of graphile-worker, ten at a time; returns the rate. */
async function runGraphile(address: string): Promise<void> {
  const database = process.env.DATABASE_URL ?? "";
  const { promise, resolve } = Promise.withResolvers<void>();
  const signer = await webhookSigner(secret);
  const utils = await makeWorkerUtils({ connectionString: database, logger: silent });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query(
      "select count(graphile_worker.add_job('deliver', json_build_object('id', n, 'text', $1::text))) from generate_series(1, $2::int) n",
      [text, events],
    ),
  );
  await utils.release();
  let done = 0;
  const startedMs = performance.now();
  const runner = await run({
    connectionString: database,
    concurrency: 10,
    logger: silent,
    taskList: {
      async deliver(payload) {
        const body = JSON.stringify(payload);
        const headers = await webhookHeaders({ eventId: "evt_1", sentAt: new Date(), body, signer });
        const response = await fetch(address, { method: "POST", headers, body });
        await response.text();
        done += 1;
        if (done === events) resolve();
      },
    },
  });
  await promise;
  sayResult(startedMs);
  await runner.stop();
}

async function workerDeps(db: Database): Promise<WorkerDeps> {
  const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  return {
    db,
    now: () => new Date(),
    random: Math.random,
    randomBytes,
    newId: idMaker(randomBytes),
    sealing: plainSealing,
    log: pino({ level: "warn" }, process.stderr),
    mailDomain: "inbox.localhost",
    recipientsMax: 50,
    isDirect: false,
    cell: "00",
    cellPeers: [],
    limits: perPlan(() => noLimits),
    searchWords: perPlan(() => "all" as const),
    nudge: () => undefined,
    changes: localChanges(),
    relay: {
      send: () => Promise.reject(new Error("No mail goes out here")),
      close: async () => undefined,
      describe: () => "none",
      serverOf: () => "none",
    },
    signMail: async () => undefined,
    hosts: ownHosts({ db, now: () => new Date() }, false),
    door: { recipient: async () => ({ kind: "unknown" }), accept: async () => "gone" },
    receiveUnparsed: async () => "unavailable",
    spoolDirectory: tmpdir(),
    envelopeFrom: async (_messageId, from) => from,
    askDelivered: false,
    maxQueueHours: 48,
    webhooks: webhookClient({ allowPrivate: true, version: "0.0.0" }),
    links: await attachmentLinks({
      signingKey: "k".repeat(32),
      ttlSeconds: 900,
      cell: "00",
      baseUrl: () => "http://localhost",
    }),
    webhookTimeoutMs: 15_000,
    webhookRetrySeconds: webhookScheduleSeconds,
    webhookDisableDays: 5,
    eventRetentionDays: 30,
    messageRetentionDays: 0,
    trashDays: 0,
  };
}

/** The rate, the processor time of this process for each, and the start, for `measured` and bench/profile.ts. */
function sayResult(startedMs: number): void {
  const perSecond = (events * 1000) / (performance.now() - startedMs);
  const { user, system } = process.cpuUsage();
  console.log(
    `${perSecond.toFixed(0)} ${((user + system) / events).toFixed(0)} ${Math.round(performance.timeOrigin + startedMs)}`,
  );
}

/** The median round. */
function middle(values: readonly Measured[]): Measured {
  const sorted = values.toSorted((one, other) => one.perSecond - other.perSecond);
  return sorted[Math.floor(values.length / 2)] ?? { perSecond: 0, workerCpu: 0, postgresCpu: 0 };
}
