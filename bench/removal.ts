/**
 * `bun bench/removal.ts`: how fast retention removes mail beside how fast the same service receives it, and what a removal
 * costs requests meanwhile; DATABASE=embedded for the other database, where only the removal is measured. Needs
 * smtp-source of the package postfix. The removal runs in a process of its own, as that of a second process of the service does.
 * It also measures how far the search index is behind after a longer load of mail, and how soon it has caught up.
 * `bun bench/removal.ts large` measures requests during one run of five minutes in an inbox of a million messages (MESSAGES), on Postgres;
 * `thread` the same while a tenth of its messages, which are one thread, are removed on request; `holes` compares the pages of an inbox of
 * which each tenth message is removed with those of one that has them all.
 */
import { existsSync } from "node:fs";
import { sql } from "drizzle-orm";
import pino from "pino";
import { openDatabase, query } from "../src/database/db.ts";
import { pageMessages } from "../src/flows/read/page-messages.ts";
import { emptyRemovedThreads, messageExpirer } from "../src/workers/remove-mail.ts";
import { clientOf } from "./support/client.ts";
import { engine, onEngine, startDatabase } from "./support/database.ts";
import { type LoadResult, load, median } from "./support/load.ts";
import { untilAtRest } from "./support/process-usage.ts";
import { report } from "./support/report.ts";
import { type SeededInbox, seedInbox } from "./support/seed.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const mailsARound = Number(process.env.MAILS ?? 10_000);
const mailsToIndex = Number(process.env.MAILS_TO_INDEX ?? 5 * mailsARound);
const sessions = 20;
const connections = 2;
const dayMs = 86_400_000;

if (process.argv[2] === "remover" && process.argv[3] === "thread") {
  const { removed, seconds } = await removeThreads(process.env.DATABASE_URL);
  process.stdout.write(`${removed} ${seconds}\n`);
  process.exit(0);
}
if (process.argv[2] === "remover") {
  const { removed, seconds, left } = await remove(process.env.DATABASE_URL, "");
  // A large inbox takes more than one run.
  if (left > 0 && process.argv[3] !== "large") throw new Error(`Cannot measure: ${left} messages are left`);
  process.stdout.write(`${removed} ${seconds}\n`);
  process.exit(0);
}
const mode = process.argv[2];
const isLarge = mode !== undefined;
if (isLarge && engine === "embedded") throw new Error("Cannot measure: a second process needs Postgres");
if (!isLarge && !existsSync("/usr/sbin/smtp-source"))
  throw new Error("Cannot measure: there is no smtp-source (package postfix)");

const database = await startDatabase(["shared_buffers=256MB", "max_wal_size=4GB"]);
try {
  await (mode === "holes"
    ? withHoles()
    : isLarge
      ? inLarge(mode === "thread")
      : engine === "embedded"
        ? alone()
        : beside());
} finally {
  await database.remove();
}

interface Removal {
  removed: number;
  seconds: number;
  left: number;
}

/** Removes the mail of the service at full speed, in one run. */
async function remove(url: string | undefined, dataDir: string): Promise<Removal> {
  const db = await openDatabase({ url, dataDir, onWarning: () => undefined });
  const now = () => new Date(Date.now() + 2 * dayMs);
  const startedMs = performance.now();
  const removed = await messageExpirer({ db, now, log: pino({ level: "warn" }), messageRetentionDays: 1 })();
  const seconds = (performance.now() - startedMs) / 1000;
  const [{ left } = { left: 0 }] = await query<{ left: number }>(
    db.work,
    sql`select count(*)::int as left from messages`,
  );
  await db.close();
  return { removed, seconds, left };
}

async function beside(): Promise<void> {
  await using service = await startServiceProcess(database.environment);
  const pids = [service.pid, database.pid ?? 0];
  const address = await newInbox(service);
  const url = `${service.apiUrl}/v1/inboxes`;
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const ask = () => load({ url, headers, connections, seconds: 3 });
  const rates = { received: [] as number[], removed: [] as number[] };
  const quiet: LoadResult[] = [];
  const busy: LoadResult[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const received = await receive(service, address);
    await untilAtRest(pids);
    const before = await ask();
    const removing = removeInProcess();
    const meanwhile = await ask();
    const { removed, seconds } = await removing;
    await untilAtRest(pids);
    // The first round warms up.
    if (round === 0) continue;
    rates.received.push(received);
    rates.removed.push(removed / seconds);
    quiet.push(before);
    busy.push(meanwhile);
  }
  report({
    what: "removal by retention, while requests are answered",
    value: median(rates.removed),
    unit: "mails/s",
    beside: [{ name: "receiving", value: median(rates.received) }],
    target: { ratio: { atLeast: 1.5 } },
  });
  const p99 = (results: readonly LoadResult[]) => median(results.map(({ p99Ms }) => p99Ms));
  report({
    what: "requests during a removal, p99",
    value: p99(busy),
    unit: "ms",
    beside: [{ name: "without", value: p99(quiet) }],
    target: { ratio: { atMost: 1.5 } },
    note: `p50 ${median(busy.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms, without ${median(quiet.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms`,
  });
  await indexing(service, address);
}

/** Receives mail at full speed, and measures the search index behind it. The index yields to mail, and fills up afterwards. */
async function indexing(service: ServiceProcess, address: string): Promise<void> {
  const db = await openDatabase({ url: database.url, dataDir: "", onWarning: () => undefined });
  const lag = async () => {
    const [row] = await query<{ messages: number; seconds: number }>(
      db.work,
      sql`select count(*)::int as messages, coalesce(extract(epoch from now() - min(m.created_at)), 0)::float8 as seconds
        from inboxes i join messages m on m.inbox_id = i.id
        where i.username = ${address.split("@")[0]}
        and m.seq > coalesce((select max(seq) from message_search where inbox_id = i.id), 0)`,
    );
    return row ?? { messages: 0, seconds: 0 };
  };
  const perSecond = await receive(service, address, mailsToIndex);
  const behind = await lag();
  const startedMs = performance.now();
  while ((await lag()).messages > 0) await Bun.sleep(100);
  const seconds = (performance.now() - startedMs) / 1000;
  await db.close();
  report({
    what: `the search index has caught up with ${mailsToIndex} mails, after their end`,
    value: seconds,
    unit: "s",
    beside: [{ name: "receiving them", value: mailsToIndex / perSecond }],
    // It rests for half of the time, and for nine tenths while mail comes.
    target: { ratio: { atMost: 1.5 } },
    note: `at their end it was ${behind.messages} mails and ${behind.seconds.toFixed(1)} s behind; a search finds those too`,
  });
}

async function alone(): Promise<void> {
  const rates = { received: [] as number[], removed: [] as number[] };
  for (let round = 0; round <= rounds; round += 1) {
    const service = await startServiceProcess(database.environment);
    const received = await receive(service, await newInbox(service));
    await untilAtRest([service.pid]);
    await service.stop();
    const { removed, seconds, left } = await remove(undefined, database.dataDir);
    if (left > 0) throw new Error(`Cannot measure: ${left} messages are left`);
    if (round === 0) continue;
    rates.received.push(received);
    rates.removed.push(removed / seconds);
  }
  report({
    what: `removal by retention${onEngine}`,
    value: median(rates.removed),
    unit: "mails/s",
    beside: [{ name: "receiving", value: median(rates.received) }],
    target: { ratio: { atLeast: 1.5 } },
  });
}

/** Removes the messages of removed threads at full speed. */
async function removeThreads(url: string | undefined): Promise<Pick<Removal, "removed" | "seconds">> {
  const db = await openDatabase({ url, dataDir: "", onWarning: () => undefined });
  const startedMs = performance.now();
  let removed = 0;
  await emptyRemovedThreads({ db, now: () => new Date(), log: pino({ level: "warn" }) }, (messages) => {
    removed += messages;
  });
  const seconds = (performance.now() - startedMs) / 1000;
  await db.close();
  return { removed, seconds };
}

/** Compares pages of two inboxes in turns: one has all of its messages, of the other each tenth is removed. */
async function withHoles(): Promise<void> {
  const messages = Number(process.env.MESSAGES ?? 1_000_000);
  await using service = await startServiceProcess(database.environment);
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const { id: accountId } = (await (await fetch(`${service.apiUrl}/v1/account`, { headers })).json()) as { id: string };
  const client = clientOf(database.url ?? "", { max: 1, onnotice: () => undefined });
  const run = (statements: string) => client.unsafe(statements);
  const whole = await seedInbox(run, { accountId, number: 1, messages });
  const holed = await seedInbox(run, { accountId, number: 2, messages });
  // As removals leave it. They would take half an hour.
  await run(`
    delete from messages where inbox_id = '${holed.id}' and seq % 10 = 3;
    update inboxes i set removed_count = message_count - left_over.count, removed_inbound_count = inbound_count - left_over.inbound,
        last_removed_seq = message_count / 10 * 10 - 7,
        last_removed_inbound_seq = (select max(direction_seq) from messages
          where inbox_id = i.id and direction = 'inbound' and seq < i.message_count / 10 * 10 - 7) + 1
      from (select count(*) as count, count(*) filter (where direction = 'inbound') as inbound
        from messages where inbox_id = '${holed.id}') left_over where i.id = '${holed.id}'`);
  await run("vacuum (analyze) messages");
  await client.end();
  await untilAtRest([service.pid, database.pid ?? 0]);
  const db = await openDatabase({ url: database.url, dataDir: "", onWarning: () => undefined });
  const pages: [what: string, page: { offset: number; after: number | undefined }][] = [
    ["first page and total", { offset: 0, after: undefined }],
    ["page behind a cursor", { offset: 0, after: messages / 2 }],
    ["page at an offset of a tenth", { offset: messages / 10, after: undefined }],
  ];
  for (const [what, page] of pages) {
    const read = async ({ id }: { id: string }) => {
      const startedMs = performance.now();
      const asked = { reach: { accountId }, inboxId: id, direction: undefined, threadId: undefined };
      await pageMessages(db.api, { ...asked, since: undefined, until: undefined, limit: 50, ...page });
      return performance.now() - startedMs;
    };
    const times = { whole: [] as number[], holed: [] as number[] };
    for (let turn = 0; turn < 600; turn += 1) {
      times.whole.push(await read(whole));
      times.holed.push(await read(holed));
    }
    report({
      what: `${what} of ${messages} messages, a tenth removed`,
      value: median(times.holed),
      unit: "ms",
      beside: [{ name: "none removed", value: median(times.whole) }],
      ...(page.offset === 0 && { target: { ratio: { atMost: 1.2 } } }),
    });
  }
  await db.close();
}

async function inLarge(isThread: boolean): Promise<void> {
  const messages = Number(process.env.MESSAGES ?? 1_000_000);
  await using service = await startServiceProcess(database.environment);
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const account = (await (await fetch(`${service.apiUrl}/v1/account`, { headers })).json()) as { id: string };
  const client = clientOf(database.url ?? "", { max: 1, onnotice: () => undefined });
  const inbox = await seedInbox((statements) => client.unsafe(statements), {
    accountId: account.id,
    number: 1,
    messages,
  });
  if (isThread) await client.unsafe(oneThread(inbox));
  await client.end();
  await untilAtRest([service.pid, database.pid ?? 0]);
  const url = `${service.apiUrl}/v1/inboxes/${inbox.id}/messages?limit=20`;
  const quiet = await load({ url, headers, connections, seconds: 30 });
  const during = { isOver: false };
  if (isThread) {
    const asked = await fetch(`${service.apiUrl}/v1/threads/${inbox.threadId}`, { method: "DELETE", headers });
    if (asked.status !== 202)
      throw new Error(`Cannot measure: the deletion of the thread was answered ${asked.status}`);
  }
  const removing = removeInProcess(isThread ? "thread" : "large").finally(() => {
    during.isOver = true;
  });
  const busy: LoadResult[] = [];
  while (!during.isOver) busy.push(await load({ url, headers, connections, seconds: 5 }));
  const { removed, seconds } = await removing;
  const slowest = Math.max(...busy.map(({ p99Ms }) => p99Ms));
  report({
    what: `requests to an inbox of ${messages} messages during a removal, p99`,
    value: median(busy.map(({ p99Ms }) => p99Ms)),
    unit: "ms",
    beside: [{ name: "before", value: quiet.p99Ms }],
    target: { ratio: { atMost: 1.5 } },
    note: `of the slowest 5 s ${slowest.toFixed(1)} ms; ${removed} messages in ${seconds.toFixed(0)} s`,
  });
}

/** Puts each tenth message of an inbox into one thread. */
function oneThread({ id, threadId, messages }: SeededInbox): string {
  return `
    update messages set thread_id = '${threadId}' where inbox_id = '${id}' and seq % 10 = 3;
    update threads t set message_count = found.count from (select thread_id, count(*) as count from messages
      where inbox_id = '${id}' group by thread_id) found where found.thread_id = t.id and t.message_count <> found.count;
    update threads set last_seq = ${messages / 10} * 10 - 7 where id = '${threadId}';
`;
}

async function removeInProcess(size = "all"): Promise<Pick<Removal, "removed" | "seconds">> {
  const child = Bun.spawn([process.execPath, import.meta.path, "remover", size], {
    env: { ...process.env, ...database.environment },
    stderr: "inherit",
  });
  const [removed = Number.NaN, seconds = Number.NaN] = (await new Response(child.stdout).text()).split(" ").map(Number);
  return { removed, seconds };
}

async function newInbox({ apiUrl, apiKey }: ServiceProcess): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const response = await fetch(`${apiUrl}/v1/inboxes`, { method: "POST", headers, body: "{}" });
  return ((await response.json()) as { address: string }).address;
}

/** Mails a second. */
async function receive({ smtpPort }: ServiceProcess, address: string, mails = mailsARound): Promise<number> {
  const startedMs = performance.now();
  const options = ["-s", String(sessions), "-m", String(mails), "-l", String(5 << 10), "-d"];
  const child = Bun.spawn(
    ["smtp-source", ...options, "-f", "jane@example.com", "-t", address, `inet:127.0.0.1:${smtpPort}`],
    { stderr: "pipe" },
  );
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
  return (mails * 1000) / (performance.now() - startedMs);
}
