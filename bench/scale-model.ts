/**
 * `bun bench/scale-model.ts [text] [reply] [notice] [newsletter] [file] [--page docs/scale.md]`: the bytes that a mail takes, and what
 * follows for a number of mails a day. Each kind of mail (support/real-mails.ts) comes by SMTP and goes to a webhook, on a database of its
 * own, with each choice of SEARCH_WORDS. It measures the growth of each table and index, the write-ahead log, processor time, and what is
 * left of raw mail that was moved to an object store (s3rver). The model mixes the kinds by MIX, and takes a peak of PEAK times the
 * average. --page writes the tables into that page, and needs all kinds.
 *
 * MAILS (3,000) is the number of mails of a batch. The first batch fills new indexes, and is not counted. The second one follows a
 * checkpoint, after which each page that is written goes into the log as a whole; before the third one there is none.
 */
import { parseArgs } from "node:util";
import type postgres from "postgres";
import { openBlobStore } from "../src/blobs/blob-store.ts";
import { readConfig } from "../src/config.ts";
import { openDatabase } from "../src/database/db.ts";
import { idMaker } from "../src/domain/ids.ts";
import { type SearchWords, searchWords } from "../src/domain/search.ts";
import { packSources } from "../src/flows/pack-sources.ts";
import { haveObjectStore, startObjectStore } from "../tests/support/object-store.ts";
import { clientOf } from "./support/client.ts";
import { type BenchDatabase, startDatabase } from "./support/database.ts";
import { describeMachine, describeState } from "./support/machine.ts";
import { row, writeSection } from "./support/page.ts";
import { cpuMs } from "./support/process-usage.ts";
import { kindMeanings, type MailKind, mailKinds, realMail } from "./support/real-mails.ts";
import { headersOf, newInboxes } from "./support/sends.ts";
import { type ServiceProcess, startServiceProcess } from "./support/service.ts";
import { smtpLoad } from "./support/smtp-load.ts";

const mails = Number(process.env.MAILS ?? 3000);
const inboxCount = 64;
const peak = Number(process.env.PEAK ?? 3);
const mix = parseMix(process.env.MIX ?? "text=1,reply=3,notice=3,newsletter=2,file=1");
const daySeconds = 86_400;
/** The longest time to wait for the index and the webhooks behind a batch. */
const longestMs = 600_000;
const retentionDays = 30;
/** The mails of a day for which the model is printed, and the number of cells that share them. */
const sizes: readonly { aDay: number; cells: number }[] = [
  { aDay: 1e5, cells: 1 },
  { aDay: 1e6, cells: 1 },
  { aDay: 1e7, cells: 1 },
  { aDay: 1e8, cells: 1 },
  { aDay: 1e9, cells: 16 },
];

const { values, positionals } = parseArgs({ allowPositionals: true, options: { page: { type: "string" } } });
const asked = positionals.filter((name): name is MailKind => mailKinds.some((kind) => kind === name));
if (asked.length < positionals.length) {
  process.stderr.write(`Cannot measure: the kinds of mail are ${mailKinds.join(", ")}\n`);
  process.exit(2);
}
const kinds = asked.length > 0 ? asked : mailKinds;
if (values.page !== undefined && kinds.length < mailKinds.length) {
  process.stderr.write("Cannot write the page: it has all kinds of mail, and not all were asked for\n");
  process.exit(2);
}
if (!haveObjectStore()) {
  process.stderr.write("Cannot measure: s3rver is not installed (tests/object-store)\n");
  process.exit(1);
}

/** The growth of a table or an index, in bytes a mail. */
interface Growth {
  table: string;
  /** The name of the index; null for the table itself, with its long values. */
  index: string | null;
  bytes: number;
}

/** What one mail of a kind costs. */
interface Cost {
  kind: MailKind;
  words: SearchWords;
  /** The bytes of the mail itself, as it comes by SMTP. */
  mailBytes: number;
  growth: readonly Growth[];
  rows: number;
  logBytes: { afterCheckpoint: number; between: number };
  cpuUs: { process: number; postgres: number };
}

const database = await startDatabase([
  "shared_buffers=256MB",
  "max_wal_size=16GB",
  "checkpoint_timeout=1h",
  "max_connections=200",
]);
const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(null, { status: 204 }) });
const costs: Cost[] = [];
/** The bytes that a mail leaves in the database for its raw source, once that is in an object store. */
const packedBytes = new Map<MailKind, number>();
try {
  for (const kind of kinds) for (const words of searchWords) costs.push(await measured(database, kind, words));
} finally {
  await receiver.stop(true);
  await database.remove();
}

const tables = [
  `${describeState()}. ${describeMachine()}.`,
  `Again: \`bun bench/scale-model.ts --page docs/scale.md\`, ${mails * 2} mails of each kind after ${mails} that are not counted.`,
  kinds.map((kind) => `- \`${kind}\`: ${kindMeanings[kind]}`).join("\n"),
  bytesTable(),
  "The search index, and the log of all that is written for a mail, in bytes a mail:",
  searchTable(),
  ...(kinds.length === mailKinds.length ? [modelIntroduction(), modelTable()] : []),
].join("\n\n");
process.stdout.write(`${tables}\n`);
if (values.page !== undefined) writeSection(values.page, "scale", tables);

async function measured({ server, pid }: BenchDatabase, kind: MailKind, words: SearchWords): Promise<Cost> {
  if (server === undefined || pid === undefined) throw new Error("Cannot measure: it needs Postgres");
  const name = `scale_${kind}_${words}`;
  await server.ask(`create database ${name}`);
  const client = clientOf(server.url(name), { max: 1, onnotice: () => undefined });
  const service = await startServiceProcess({
    DATABASE_URL: server.url(name),
    SEARCH_WORDS: words,
    SMTP_MAX_CONNECTIONS_PER_ADDRESS: "1000",
    WEBHOOK_URL: `http://127.0.0.1:${receiver.port}/hook`,
    ALLOW_PRIVATE_WEBHOOKS: "1",
  });
  try {
    const addresses = await newAddresses(service);
    const pids = { process: service.pid, postgres: pid };
    let sent = 0;
    let mailBytes = 0;
    const batch = async () => {
      const first = sent;
      const to = (number: number) => addresses[(first + number) % inboxCount] ?? "";
      await smtpLoad({
        port: service.smtpPort,
        sessions: 20,
        mails,
        to,
        mail(number) {
          const mail = realMail({ kind, number: first + number, to: to(number), inboxes: inboxCount });
          mailBytes += mail.length;
          return mail;
        },
      });
      sent += mails;
      await settled(client, sent);
      return stateOf(client, pids);
    };
    await batch();
    await client.unsafe("checkpoint");
    const [start, middle, end] = [await stateOf(client, pids), await batch(), await batch()];
    const counted = 2 * mails;
    const cost: Cost = {
      kind,
      words,
      mailBytes: mailBytes / sent,
      growth: growthOf(start, end, counted),
      rows: (rowsIn(end) - rowsIn(start)) / counted,
      logBytes: {
        afterCheckpoint: (middle.log - start.log) / mails,
        between: (end.log - middle.log) / mails,
      },
      cpuUs: {
        process: ((end.cpuMs.process - start.cpuMs.process) * 1000) / counted,
        postgres: ((end.cpuMs.postgres - start.cpuMs.postgres) * 1000) / counted,
      },
    };
    process.stdout.write(`${kind}, SEARCH_WORDS=${words}: ${whole(sumOf(cost.growth))} bytes a mail\n`);
    if (!packedBytes.has(kind)) packedBytes.set(kind, (await packedSize(client, server.url(name))) / sent);
    return cost;
  } finally {
    await service.stop();
    await client.end();
    await server.ask(`drop database ${name}`);
  }
}

async function newAddresses(service: ServiceProcess): Promise<string[]> {
  const ids = await newInboxes(service, inboxCount);
  return Promise.all(
    ids.map(async (id) => {
      const answer = await fetch(`${service.apiUrl}/v1/inboxes/${id}`, { headers: headersOf(service) });
      return ((await answer.json()) as { address: string }).address;
    }),
  );
}

/** Waits until all mail is indexed and its events are delivered. Then does what a vacuum does in time, also for the index of words. */
async function settled(client: postgres.Sql, sent: number): Promise<void> {
  const untilMs = performance.now() + longestMs;
  for (;;) {
    const [seen] = await client<{ messages: number; indexed: number; waiting: number }[]>`
      select (select count(*)::int from messages) as messages, (select count(*)::int from message_search) as indexed,
        (select count(*)::int from outbox) as waiting`;
    if (seen?.messages === sent && seen.indexed === sent && seen.waiting === 0) break;
    if (performance.now() > untilMs) throw new Error(`Cannot measure: not done in time (${JSON.stringify(seen)})`);
    await Bun.sleep(200);
  }
  await client.unsafe("vacuum");
}

/** Moves all raw mail to an object store. Returns the bytes that are left of it in the database. */
async function packedSize(client: postgres.Sql, url: string): Promise<number> {
  await using store = await startObjectStore();
  const { blobs: settings } = readConfig(store.env);
  if (settings === undefined) throw new Error("Cannot measure: there is no object store");
  const blobs = openBlobStore(settings);
  const db = await openDatabase({ url, dataDir: "", blobs, onWarning: () => undefined });
  try {
    const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
    const inAnHour = () => new Date(Date.now() + 3_600_000);
    const deps = { db, now: inAnHour, newId: idMaker(randomBytes), randomBytes, blobs, blobsAfterMinutes: 1 };
    for (let next: string | undefined = ""; next !== undefined; ) next = await packSources(deps, next);
  } finally {
    await db.close();
  }
  await client.unsafe("vacuum full source_chunks");
  const [left] = await client<{ bytes: number }[]>`
    select (pg_total_relation_size('source_chunks') + pg_total_relation_size('segments'))::float8 as bytes`;
  return left?.bytes ?? 0;
}

interface State {
  /** The bytes of each table and index. */
  relations: readonly Growth[];
  /** The number of rows of each table. */
  rows: ReadonlyMap<string, number>;
  /** The position in the write-ahead log. */
  log: number;
  cpuMs: { process: number; postgres: number };
}

async function stateOf(client: postgres.Sql, pids: { process: number; postgres: number }): Promise<State> {
  const used = { process: cpuMs(pids.process), postgres: cpuMs(pids.postgres) };
  const [position] = await client<{ log: number }[]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as log`;
  const relations = await client<Growth[]>`
    select t.relname as table, case when x.indexrelid is null then null else c.relname end as index,
      (case when x.indexrelid is null then pg_table_size(c.oid) else pg_relation_size(c.oid) end)::float8 as bytes
    from pg_class c left join pg_index x on x.indexrelid = c.oid join pg_class t on t.oid = coalesce(x.indrelid, c.oid)
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'i')
    order by t.relname, x.indexrelid is not null, c.relname`;
  const rows = new Map<string, number>();
  for (const { table, index } of relations) {
    if (index !== null) continue;
    const [counted] = await client<{ count: number }[]>`select count(*)::int as count from ${client(table)}`;
    rows.set(table, counted?.count ?? 0);
  }
  return { relations: [...relations], rows, log: position?.log ?? 0, cpuMs: used };
}

/**
 * The growth of the tables that keep rows of a mail. Other tables, such as the outbox, use the space of deleted rows and old versions
 * again, and do not grow with the mail.
 */
function growthOf(start: State, end: State, counted: number): Growth[] {
  const keeps = (table: string) => (end.rows.get(table) ?? 0) - (start.rows.get(table) ?? 0) >= counted / 100;
  const before = new Map(start.relations.map((each) => [nameOf(each), each.bytes]));
  return end.relations
    .filter(({ table }) => keeps(table))
    .map((each) => ({ ...each, bytes: (each.bytes - (before.get(nameOf(each)) ?? 0)) / counted }));
}

function nameOf({ table, index }: Pick<Growth, "table" | "index">): string {
  return `${table} ${index ?? ""}`;
}

function rowsIn({ rows }: State): number {
  return [...rows.values()].reduce((sum, count) => sum + count, 0);
}

function sumOf(growth: readonly Growth[], ofTable?: string): number {
  return growth
    .filter(({ table }) => ofTable === undefined || table === ofTable)
    .reduce((sum, { bytes }) => sum + bytes, 0);
}

function costOf(kind: MailKind, words: SearchWords): Cost {
  const cost = costs.find((each) => each.kind === kind && each.words === words);
  if (cost === undefined) throw new Error(`Cannot print: ${kind} with ${words} was not measured`);
  return cost;
}

/** The bytes of a mail by table and index, a column for each kind, with all words indexed. The largest tables come first. */
function bytesTable(): string {
  const all = kinds.map((kind) => costOf(kind, "all"));
  const relations = [...new Map(all.flatMap(({ growth }) => growth.map((each) => [nameOf(each), each]))).values()];
  const ofTable = (table: string) => all.reduce((sum, { growth }) => sum + sumOf(growth, table), 0);
  const names = [...new Set(relations.map(({ table }) => table))];
  const largest = names.toSorted((one, other) => ofTable(other) - ofTable(one));
  const bytesOf = ({ growth }: Cost, wanted: Growth) =>
    whole(growth.find((each) => nameOf(each) === nameOf(wanted))?.bytes ?? 0);
  const lines = largest.flatMap((table) =>
    relations
      .filter((each) => each.table === table)
      .map((each) => {
        const name = each.index === null ? `\`${table}\`` : `· \`${each.index}\``;
        return row(name, ...all.map((cost) => bytesOf(cost, each)));
      }),
  );
  return tableOf(
    ["bytes a mail", ...kinds],
    [
      ...lines,
      row("**all**", ...all.map(({ growth }) => `**${whole(sumOf(growth))}**`)),
      row("left of `source_chunks` with `BLOBS`", ...kinds.map((kind) => whole(packedBytes.get(kind) ?? 0))),
      row("the mail as it came", ...all.map(({ mailBytes }) => whole(mailBytes))),
      row("rows", ...all.map(({ rows }) => rows.toFixed(1))),
      row("processor time of inboxd, µs", ...all.map(({ cpuUs }) => whole(cpuUs.process))),
      row("processor time of Postgres, µs", ...all.map(({ cpuUs }) => whole(cpuUs.postgres))),
    ],
  );
}

function searchTable(): string {
  const columns = searchWords.map((words) => `\`${words}\``);
  return tableOf(
    ["", ...columns.map((words) => `index, ${words}`), ...columns.map((words) => `log, ${words}`)],
    kinds.map((kind) => {
      const ofKind = searchWords.map((words) => costOf(kind, words));
      const indexes = ofKind.map(({ growth }) => whole(sumOf(growth, "message_search")));
      return row(kind, ...indexes, ...ofKind.map(({ logBytes }) => logRange(logBytes)));
    }),
  );
}

/** Without and with whole pages. */
function logRange({ between, afterCheckpoint }: Cost["logBytes"]): string {
  return `${whole(between)}–${whole(afterCheckpoint)}`;
}

function modelIntroduction(): string {
  const shares = mailKinds.map((kind) => `${mix.get(kind) ?? 0} ${kind}`).join(", ");
  return `The model, for an assumed mix of ${shares}, and a peak of ${peak} times the average. The log is that between checkpoints, and right after one. The last two columns have the words of the head alone, and raw mail in an object store. What a standby or a backup needs comes on top.`;
}

function modelTable(): string {
  const all = mixed("all");
  const head = mixed("head");
  return tableOf(
    [
      "mails a day",
      "a second, at the peak",
      "cores of inboxd, of Postgres, at the peak",
      "log at the peak, MB/s",
      "rows removed a second, once retention holds",
      "stored a day",
      `${retentionDays} days`,
      "less stored a day",
      `${retentionDays} days`,
    ],
    sizes.map(({ aDay, cells }) => {
      const perCell = aDay / cells;
      const perSecond = perCell / daySeconds;
      const atPeak = perSecond * peak;
      const cores = [all.processUs, all.postgresUs].map((us) => ((us * atPeak) / 1e6).toFixed(2)).join(", ");
      const log = [all.logBetween, all.logAfter].map((bytes) => ((bytes * atPeak) / 1e6).toFixed(1)).join("–");
      const less = head.stored - head.raw + head.packed;
      return row(
        cells === 1 ? whole(aDay) : `${whole(aDay)} in ${cells} cells, of each`,
        whole(atPeak),
        cores,
        log,
        whole(all.rows * perSecond),
        shownBytes(all.stored * perCell),
        shownBytes(all.stored * perCell * retentionDays),
        shownBytes(less * perCell),
        shownBytes(less * perCell * retentionDays),
      );
    }),
  );
}

/** The cost of an average mail of the mix. */
function mixed(words: SearchWords) {
  const shares = [...mix.values()].reduce((sum, share) => sum + share, 0);
  const average = (of: (cost: Cost) => number): number =>
    mailKinds.reduce((sum, kind) => sum + of(costOf(kind, words)) * (mix.get(kind) ?? 0), 0) / shares;
  return {
    stored: average(({ growth }) => sumOf(growth)),
    raw: average(({ growth }) => sumOf(growth, "source_chunks")),
    packed: average(({ kind }) => packedBytes.get(kind) ?? 0),
    rows: average(({ rows }) => rows),
    logBetween: average(({ logBytes }) => logBytes.between),
    logAfter: average(({ logBytes }) => logBytes.afterCheckpoint),
    processUs: average(({ cpuUs }) => cpuUs.process),
    postgresUs: average(({ cpuUs }) => cpuUs.postgres),
  };
}

function parseMix(text: string): ReadonlyMap<MailKind, number> {
  const shares = new Map<MailKind, number>();
  for (const part of text.split(",")) {
    const [name, share] = part.split("=");
    const kind = mailKinds.find((each) => each === name);
    if (kind === undefined || !/^\d+$/.test(share ?? ""))
      throw new Error(`Cannot mix: MIX has "${part}", which is not such as text=1`);
    shares.set(kind, Number(share));
  }
  return shares;
}

function tableOf(head: readonly string[], lines: readonly string[]): string {
  return [row(...head), row("---", ...head.slice(1).map(() => "---:")), ...lines].join("\n");
}

function whole(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}

/** Three digits and a unit: `864 GB`. */
function shownBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)));
  return `${Number((bytes / 1000 ** step).toPrecision(3)).toLocaleString("en-US")} ${units[step]}`;
}
