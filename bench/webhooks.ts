/**
 * Deliveries of webhooks, measured on a Postgres of its own against graphile-worker in the same run:
 *
 *     bun bench/webhooks.ts
 *
 * Both tell a local receiver, in a process of its own, of the same number of events with the same signature; ours also
 * writes a row into the log for each. Then ours once more with a million finished deliveries in the log, and the time
 * from commit to the first byte at an idle receiver. The ratios hold on any machine; the figures don't.
 */
import { readFileSync } from "node:fs";
import { sql } from "drizzle-orm";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pino from "pino";
import { webhookScheduleSeconds } from "../src/domain/backoff.ts";
import { idMaker } from "../src/domain/ids.ts";
import { perPlan } from "../src/domain/limits.ts";
import { webhookHeaders, webhookSigner } from "../src/domain/signature.ts";
import { attachmentLinks } from "../src/flows/attachment-links.ts";
import { type Database, openDatabase, query } from "../src/store/db.ts";
import { migrate } from "../src/store/migrate.ts";
import { webhookClient } from "../src/webhook/client.ts";
import { startWorkers, type WorkerDeps } from "../src/workers/scheduler.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { cpuMs } from "./support/process-usage.ts";

const events = Number(process.env.EVENTS ?? 30_000);
const rounds = Number(process.env.ROUNDS ?? 3);
const accounts = Number(process.env.ACCOUNTS ?? 10);
const secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD4VOGAZ0ExAm=";
const text = "It is on its way. ".repeat(40);

const silent = new Logger(() => () => undefined);

const [mode = "bench", url = "", receiver = ""] = process.argv.slice(2);
if (mode === "receiver") serveReceiver();
else if (mode === "ours") await deliverAll(url);
else if (mode === "latency") await measureLatency(url);
else if (mode === "graphile") await runGraphile(url, receiver);
else await bench();

async function bench(): Promise<void> {
  const server = await startPostgres(["shared_buffers=256MB", "max_wal_size=2GB"]);
  await server.ask("create database bench");
  const database = server.url("bench");
  const db = await openDatabase({ url: database, dataDir: "" });
  await migrate(db);
  const receiving = await child("receiver");
  const address = receiving.said;
  try {
    await makeAccounts(db, address);
    const ours: Measured[] = [];
    const theirs: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await makeEvents(db);
      ours.push(await measured(db, "ours", database));
      theirs.push(await measured(db, "graphile", database, address));
    }
    const own = median(ours);
    const graphile = median(theirs);
    console.log(`inboxd, a log row each:      ${shown(own)}; wanted: 5000`);
    console.log(`graphile-worker, no log row: ${shown(graphile)}`);
    console.log(`ratio: ${(own.perSecond / graphile.perSecond).toFixed(2)}; wanted: 2`);

    await query(
      db.api,
      sql`insert into deliveries (event_id, attempt, attempted_at, status, latency_ms, response)
          select 'evt_1' || lpad(n::text, 25, '0'), 1, now(), 200, 5, 'ok' from generate_series(1, 1000000) n`,
    );
    const full: Measured[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await makeEvents(db);
      full.push(await measured(db, "ours", database));
    }
    const withLog = median(full);
    console.log(`with 1,000,000 deliveries in the log: ${shown(withLog)}`);
    console.log(`that is ${((100 * withLog.perSecond) / own.perSecond).toFixed(0)} %; wanted: 90`);
    console.log(
      `from commit to the receiver's first byte, idle: ${(await child("latency", database)).said} (wanted: 10 ms)`,
    );
  } finally {
    receiving.process.kill();
    await db.close();
    await server.remove();
  }
}

interface Measured {
  perSecond: number;
  /** Microseconds of the worker's process and of Postgres for each delivery: steadier than the rate where others work too. */
  workerCpu: number;
  postgresCpu: number;
}

/** Runs a worker to its end and measures it from outside the database's clients. */
async function measured(db: Database, ...args: string[]): Promise<Measured> {
  const postgres = await postmasterOf(db);
  const beforeMs = cpuMs(postgres);
  const { said } = await child(...args);
  const [perSecond = 0, workerCpu = 0] = said.split(" ").map(Number);
  return { perSecond, workerCpu, postgresCpu: ((cpuMs(postgres) - beforeMs) * 1000) / events };
}

async function postmasterOf(db: Database): Promise<number> {
  const [backend] = await query<{ pid: number }>(db.api, sql`select pg_backend_pid() as pid`);
  const fields = readFileSync(`/proc/${backend?.pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return Number(fields[1]);
}

function shown({ perSecond, workerCpu, postgresCpu }: Measured): string {
  return `${perSecond.toFixed(0)} a second (CPU for each: worker ${workerCpu.toFixed(0)} µs, Postgres ${postgresCpu.toFixed(0)} µs)`;
}

/** Runs one part in a process of its own; `said` is its first line. */
async function child(...args: string[]) {
  const process_ = Bun.spawn([process.execPath, import.meta.path, ...args], { stdout: "pipe", stderr: "inherit" });
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
  await query(
    db.api,
    sql`with made as (
          insert into accounts (id, name, plan, created_at)
          select 'acc_' || lpad(n::text, 26, '0'), 'bench ' || n, 'developer', now() from generate_series(1, ${accounts}::int) n returning id
        )
        insert into webhooks (account_id, url, secret, created_at) select id, ${address}, ${secret}, now() from made`,
  );
  await query(
    db.api,
    sql`insert into inboxes (id, account_id, username, external_id, created_at)
        select 'inb_' || lpad(n::text, 26, '0'), 'acc_' || lpad((1 + n % ${accounts}::int)::text, 26, '0'), 'box' || n, 'user-7', now()
        from generate_series(1, 1000) n`,
  );
}

/** Events of arrived mails, in line. */
async function makeEvents(db: Database): Promise<void> {
  await query(db.api, sql`truncate messages, events, outbox`);
  const numbered = sql`select n, lpad(n::text, 26, '0') as id, lpad((1 + n % 1000)::text, 26, '0') as inbox,
    lpad((1 + (1 + n % 1000) % ${accounts}::int)::text, 26, '0') as account from generate_series(1, ${events}::int) n`;
  await query(
    db.api,
    sql`insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
          message_id_hash, from_addr, to_addr, cc, subject, body_text, attachment_count)
        select 'msg_' || id, 'inb_' || inbox, 'thr_' || id, n, 'inbound', n, 'received', now(), id || '@mail.example',
          gen_random_uuid(), 'jane@mail.example', 'bot@inbox.localhost', '{}', 'Hello', ${text}, 0 from (${numbered}) numbered`,
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
    sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, created_at)
        select 'evt_' || id, 'webhook', 'acc_' || account, 'inb_' || inbox, 'acc_' || account, now(), now()
        from (${numbered}) numbered`,
  );
  await query(db.api, sql`analyze messages`);
}

/** One process of the service with nothing but its workers; says how many events a second it delivered. */
async function deliverAll(database: string): Promise<void> {
  const db = await openDatabase({ url: database, dataDir: "" });
  const startedMs = performance.now();
  const workers = await startWorkers(await workerDeps(db));
  for (;;) {
    const [row] = await query<{ left: number }>(db.api, sql`select 1 as left from outbox limit 1`);
    if (row === undefined) break;
    await Bun.sleep(5);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  sayResult(seconds);
  await workers.stop(1000);
  await db.close();
}

/** From the commit of an event to its arrival at an idle receiver in this process. */
async function measureLatency(database: string): Promise<void> {
  const db = await openDatabase({ url: database, dataDir: "" });
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
  await query(db.api, sql`update webhooks set url = ${`http://127.0.0.1:${server.port}/`}`);
  const workers = await startWorkers(await workerDeps(db));
  const latencies: number[] = [];
  for (let number = 1; number <= 200; number += 1) {
    const id = String(number).padStart(26, "0");
    const arrival = new Promise<number>((resolve) => {
      arrived = resolve;
    });
    await query(
      db.api,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, created_at)
          select id, 'webhook', account_id, inbox_id, account_id, now(), now() from events where id = ${`evt_${id}`}`,
    );
    const committedMs = performance.now();
    workers.nudge("webhook");
    latencies.push((await arrival) - committedMs);
    await Bun.sleep(5);
  }
  const sorted = latencies.slice(20).sort((one, other) => one - other);
  const at = (share: number) => `${sorted[Math.floor(sorted.length * share)]?.toFixed(1)} ms`;
  console.log(`median ${at(0.5)}, p99 ${at(0.99)}`);
  await workers.stop(1000);
  await server.stop(true);
  await db.close();
}

/** The same number of signed fetches as jobs of graphile-worker, ten at a time; says how many a second it did. */
async function runGraphile(database: string, address: string): Promise<void> {
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
  sayResult((performance.now() - startedMs) / 1000);
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
    log: pino({ level: "warn" }, process.stderr),
    mailDomain: "inbox.localhost",
    limits: perPlan(() => ({ sendsPerMinute: 0, sendsPerDay: 0, coldRecipientDaily: 0, inboxesPerDay: 0 })),
    nudge: () => undefined,
    relay: {
      send: () => Promise.reject(new Error("No mail goes out here")),
      close: async () => undefined,
      describe: () => "none",
      destinationOf: () => "none",
    },
    signMail: undefined,
    acceptMail: async () => ({ kind: "gone" }),
    maxQueueHours: 48,
    webhooks: webhookClient({ allowPrivate: true, version: "0.0.0" }),
    links: await attachmentLinks({ signingKey: "k".repeat(32), ttlSeconds: 900, baseUrl: () => "http://localhost" }),
    webhookTimeoutMs: 15_000,
    webhookRetrySeconds: webhookScheduleSeconds,
    eventRetentionDays: 30,
  };
}

/** The rate, and the processor's time of this process for each: what `measured` reads. */
function sayResult(seconds: number): void {
  const { user, system } = process.cpuUsage();
  console.log(`${(events / seconds).toFixed(0)} ${((user + system) / events).toFixed(0)}`);
}

function median(values: readonly Measured[]): Measured {
  const sorted = values.toSorted((one, other) => one.perSecond - other.perSecond);
  return sorted[Math.floor(values.length / 2)] ?? { perSecond: 0, workerCpu: 0, postgresCpu: 0 };
}
