/**
 * `bun bench/partitions.ts`: pages of an inbox whose messages lie in the partitions of a year (MESSAGES) beside those of the same inbox without
 * partitions, in turns; and how long it takes to drop a day of events (EVENTS, each with a delivery) while other statements use the tables,
 * with accounts that have no later event (QUIET). On Postgres.
 */
import { sql } from "drizzle-orm";
import { type Database, openDatabase, query } from "../src/database/db.ts";
import { beginningOfIds } from "../src/domain/ids.ts";
import { addPartitions, dropOldPartitions, partitionTables } from "../src/flows/partitions.ts";
import { pageMessages } from "../src/flows/read/page-messages.ts";
import { migrate } from "../src/store/migrate.ts";
import { listPartitions } from "../src/store/upkeep/partitions.ts";
import { startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { report } from "./support/report.ts";
import { type SeededInbox, seedInbox } from "./support/seed.ts";

const messages = Number(process.env.MESSAGES ?? 260_000);
const events = Number(process.env.EVENTS ?? 2_000_000);
const quiet = Number(process.env.QUIET ?? 1_000);
const turns = 600;
const users = 4;
const dayMs = 86_400_000;
const accountId = "acc_bench";

const database = await startDatabase(["shared_buffers=1GB", "max_wal_size=4GB", "max_locks_per_transaction=256"]);
const { server } = database;
if (server === undefined) throw new Error("Cannot measure: the embedded database has no partitions");
const opened: Database[] = [];
try {
  await pages();
  await dropping();
} finally {
  await Promise.all(opened.map((db) => db.close()));
  await database.remove();
}

/** Opens a new database with the schema. */
async function newDatabase(name: string): Promise<Database> {
  await server?.ask(`create database ${name}`);
  const db = await openDatabase({ url: server?.url(name) ?? "", dataDir: "", onWarning: () => undefined });
  opened.push(db);
  await migrate(db);
  return db;
}

async function pages(): Promise<void> {
  const whole = await newDatabase("whole");
  const divided = await newDatabase("divided");
  const now = new Date();
  const start = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 10, now.getUTCDate()));
  await partitionTables({ db: divided, now: () => start }, ["messages", "attachments"], "month");
  await addPartitions({ db: divided, now: () => now });
  const partitions = (await listPartitions(divided.work)).get("messages")?.length ?? 0;
  const inboxes: SeededInbox[] = [];
  for (const db of [whole, divided]) inboxes.push(await seeded(db, start, now));
  const [inbox] = inboxes;
  if (inbox === undefined) throw new Error("Cannot measure: no inbox was seeded");
  const asked: [what: string, page: { offset: number; after: number | undefined }][] = [
    ["first page and total", { offset: 0, after: undefined }],
    ["page behind a cursor", { offset: 0, after: messages / 2 }],
    ["page at an offset of a tenth", { offset: messages / 10, after: undefined }],
  ];
  for (const [what, page] of asked) {
    const read = async (db: Database) => {
      const startedMs = performance.now();
      const question = { reach: { accountId }, inboxId: inbox.id, direction: undefined, threadId: undefined };
      await pageMessages(db.api, { ...question, since: undefined, until: undefined, limit: 50, ...page });
      return performance.now() - startedMs;
    };
    const times = { whole: [] as number[], divided: [] as number[] };
    for (let turn = 0; turn < turns; turn += 1) {
      times.whole.push(await read(whole));
      times.divided.push(await read(divided));
    }
    report({
      what: `${what} of ${messages} messages in ${partitions} partitions`,
      value: median(times.divided),
      unit: "ms",
      beside: [{ name: "in one table", value: median(times.whole) }],
      target: { ratio: { atMost: 1.5 } },
    });
  }
}

/** Seeds an inbox, and spreads the ids of its messages evenly over the time between two instants. */
async function seeded(db: Database, from: Date, to: Date): Promise<SeededInbox> {
  return db.maintain(async (own) => {
    await own.script(
      `insert into accounts (id, name, plan, created_at) values ('${accountId}', 'bench', 'enterprise', now())`,
    );
    const inbox = await seedInbox(own.script, { accountId, number: 1, messages });
    const stepMs = Math.floor((to.getTime() - from.getTime()) / messages);
    // The number of a message is the end of its seeded id, in hexadecimal digits.
    const moved = (id: string) =>
      `substr(${id}, 1, 4) || time_of_id(${from.getTime()} + ${stepMs} * ('x' || right(${id}, 8))::bit(32)::int8) || substr(${id}, 15)`;
    await own.script(`
      create function time_of_id(ms int8) returns text language sql immutable as $$
        select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (ms >> (5 * (9 - n)) & 31)::int + 1, 1), '' order by n)
        from generate_series(0, 9) n $$;
      update messages set id = ${moved("id")};
      update attachments set message_id = ${moved("message_id")};
      update recipients set message_id = ${moved("message_id")};
      update message_search set message_id = ${moved("message_id")};
      update threads set last_message_id = ${moved("last_message_id")};
      update inboxes set last_message_id = ${moved("last_message_id")}`);
    await own.script("vacuum (full, analyze) messages, attachments, recipients");
    return inbox;
  });
}

async function dropping(): Promise<void> {
  const db = await newDatabase("dropped");
  const now = new Date();
  const start = new Date(now.getTime() - 40 * dayMs);
  await partitionTables({ db, now: () => start }, ["events"], "day");
  await addPartitions({ db, now: () => now });
  const old = new Date(start.getTime() + 5 * dayMs);
  await db.maintain((own) =>
    own.script(`
      set synchronous_commit = off;
      insert into accounts (id, name, plan, created_at)
        select 'acc_' || n, 'account ' || n, 'free', now() from generate_series(0, ${quiet}) n;
      insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
        select '${beginningOfIds("evt", old)}' || lpad(n::text, 16, '0'), 'acc_' || case when n <= ${quiet} then n else 0 end,
          'inb_' || n % 1000, 'thr_' || n, 'msg_' || n, 'message.received', '${old.toISOString()}' from generate_series(1, ${events}) n;
      insert into deliveries (event_id, lane, attempt, attempted_at, status, latency_ms)
        select id, account_id, 1, occurred_at, 200, 5 from events`),
  );
  await db.maintain((own) => own.script("vacuum (analyze) events, deliveries"));
  const { times: before } = await usedFor(db, now, () => Bun.sleep(2_000));
  const startedMs = performance.now();
  const dropped = () =>
    Promise.all(
      [untilDropped(db, old), dropOldPartitions({ db, now: () => now, eventRetentionDays: 30 })].map(async (work) => {
        await work;
        return performance.now() - startedMs;
      }),
    );
  const {
    times: during,
    result: [goneMs = 0, tookMs = 0],
  } = await usedFor(db, now, dropped);
  const [left] = await query<{ count: number }>(
    db.work,
    sql`select count(*) from events where id < ${beginningOfIds("evt", new Date(old.getTime() + dayMs))}`,
  );
  if (left?.count !== quiet) throw new Error(`Cannot measure: ${left?.count} old events are left, not ${quiet}`);
  report({
    what: `dropping ${events} events with their deliveries, ${quiet} of which stay`,
    value: goneMs,
    unit: "ms",
    target: { value: { atMost: 1_000 } },
    note: `${tookMs.toFixed(0)} ms until their files were deleted too`,
  });
  report({
    what: "the slowest statement meanwhile",
    value: Math.max(...during),
    unit: "ms",
    beside: [{ name: "without", value: Math.max(...before) }],
    target: { value: { atMost: 100 } },
    note: `${during.length} statements; the median took ${median(during).toFixed(2)} ms`,
  });
}

/** The times of statements that write and read events while some work runs. */
async function usedFor<Result>(db: Database, now: Date, work: () => Promise<Result>) {
  const times: number[] = [];
  let isOver = false;
  let number = 0;
  const working = work().finally(() => {
    isOver = true;
  });
  const use = async () => {
    while (!isOver) {
      number += 1;
      const id = `${beginningOfIds("evt", now)}${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
      const startedMs = performance.now();
      await query(
        db.mail,
        sql`insert into events (id, account_id, type, occurred_at) values (${id}, 'acc_0', 'message.received', ${now})`,
      );
      await query(
        db.api,
        sql`select id from events where account_id = 'acc_0' order by written_by desc, id desc limit 50`,
      );
      times.push((performance.now() - startedMs) / 2);
    }
  };
  const [result] = await Promise.all([working, ...Array.from({ length: users }, use)]);
  if (number < users) throw new Error("Cannot measure: no statement ran");
  return { times, result };
}

/** Waits until the events of a day are gone for another session. */
async function untilDropped(db: Database, day: Date): Promise<void> {
  const [from, to] = [day, new Date(day.getTime() + dayMs)].map((instant) => beginningOfIds("evt", instant));
  for (;;) {
    const rows = await query(db.work, sql`select from events where id >= ${from} and id < ${to} limit ${quiet + 1}`);
    if (rows.length <= quiet) return;
    await Bun.sleep(5);
  }
}
