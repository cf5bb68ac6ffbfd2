/**
 * `bun bench/object-store.ts`: the bytes of the database for a mail whose raw source is in an object store (s3rver) beside those of the
 * same mail before it was packed, for text of random words and for mail with a file; the processor time of packing a mail; and a read of
 * raw mail from the store beside one from the database. MAILS for each kind; DATABASE=embedded for the other database.
 */
import { sql } from "drizzle-orm";
import pino from "pino";
import { openBlobStore } from "../src/blobs/blob-store.ts";
import { readConfig } from "../src/config.ts";
import { type Database, openDatabase, query } from "../src/database/db.ts";
import { idMaker } from "../src/domain/ids.ts";
import { perPlan } from "../src/domain/limits.ts";
import { packSources } from "../src/flows/pack-sources.ts";
import { indexMessages } from "../src/flows/read/index-messages.ts";
import { findChunk } from "../src/store/mail/sources.ts";
import { haveObjectStore, startObjectStore } from "../tests/support/object-store.ts";
import { type BenchDatabase, onEngine, startDatabase } from "./support/database.ts";
import { median } from "./support/load.ts";
import { cpuMs } from "./support/process-usage.ts";
import { report, reportSkipped } from "./support/report.ts";
import { startServiceProcess } from "./support/service.ts";
import { smtpLoad } from "./support/smtp-load.ts";

const mails = Number(process.env.MAILS ?? 3_000);
const reads = 200;
const hourMs = 3_600_000;
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

const kinds = [
  { name: "5 KiB of text", mail: textMails(5 << 10, true), atMost: 0.85 },
  { name: "5 KiB of random words", mail: textMails(5 << 10, false), atMost: undefined },
  { name: "100 KiB with a file", mail: fileMails(100 << 10), atMost: 0.15 },
];

if (haveObjectStore()) for (const kind of kinds) await measure(kind);
else reportSkipped("raw mail in an object store", "s3rver is not installed (tests/object-store)");

async function measure({ name, mail, atMost }: (typeof kinds)[number]): Promise<void> {
  await using store = await startObjectStore();
  const { blobs: settings } = readConfig(store.env);
  if (settings === undefined) throw new Error("Cannot measure: there is no object store");
  const database = await startDatabase();
  try {
    await receive(database, mail);
    const blobs = openBlobStore(settings);
    const db = await openDatabase({ url: database.url, dataDir: database.dataDir, blobs, onWarning: () => undefined });
    await indexAll(db);
    const now = () => new Date(Date.now() + 3 * hourMs);
    const before = await bytesAMail(db);
    const readBefore = await readMs(db);
    const usedBefore = used(database);
    const deps = { db, now, newId: idMaker(randomBytes), randomBytes, blobs, blobsAfterMinutes: 60 };
    for (let next: string | undefined = ""; next !== undefined; ) next = await packSources(deps, next);
    const cpu = used(database).map((ms, index) => ((ms - (usedBefore[index] ?? 0)) / mails) * 1000);
    const after = await bytesAMail(db);
    report({
      what: `database, ${name}${onEngine}`,
      value: after,
      unit: "bytes/mail",
      beside: [{ name: "before it was packed", value: before }],
      ...(atMost !== undefined && { target: { ratio: { atMost } } }),
      note: `packing: ${cpu.map((each) => each.toFixed(0)).join(" + ")} µs a mail (process + Postgres)`,
    });
    report({
      what: `a read of raw mail, ${name}${onEngine}`,
      value: await readMs(db),
      unit: "ms",
      beside: [{ name: "from the database", value: readBefore }],
    });
    await db.close();
  } finally {
    await database.remove();
  }
}

/** Receives the mails by a service. */
async function receive(database: BenchDatabase, mail: (number: number) => string): Promise<void> {
  await using service = await startServiceProcess(database.environment);
  const headers = { authorization: `Bearer ${service.apiKey}`, "content-type": "application/json" };
  const response = await fetch(`${service.apiUrl}/v1/inboxes`, { method: "POST", headers, body: "{}" });
  const { address } = (await response.json()) as { address: string };
  await smtpLoad({ port: service.smtpPort, sessions: 10, mails, mail, to: () => address });
}

/** Indexes the text of all mail for search, as the service does in the background. */
async function indexAll({ work }: Database): Promise<void> {
  const [inbox] = await query<{ id: string }>(work, sql`select inbox_id as id from messages limit 1`);
  const deps = { db: work, log: pino({ level: "warn" }), searchWords: perPlan(() => "all" as const) };
  await indexMessages(deps, inbox?.id ?? "", 0, mails, () => true);
}

/** The bytes of all tables with their indexes for a mail, after the free space was given back. */
async function bytesAMail(db: Database): Promise<number> {
  await db.maintain((own) => own.script("vacuum full"));
  const [size] = await query<{ bytes: number; unindexed: number }>(
    db.work,
    sql`select sum(pg_total_relation_size(c.oid))::float8 as bytes,
          (select count(*) from messages)::int - (select count(*) from message_search)::int as unindexed
        from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind = 'r'`,
  );
  if (size === undefined || size.unindexed !== 0) throw new Error("Cannot measure: not all mail is indexed for search");
  return size.bytes / mails;
}

/** The processor time of this process and of Postgres. The embedded database is in this process. */
function used({ pid }: BenchDatabase): number[] {
  const { user, system } = process.cpuUsage();
  return [(user + system) / 1000, ...(pid === undefined ? [] : [cpuMs(pid)])];
}

/** The median time of a read of one piece, in milliseconds. */
async function readMs({ api }: Database): Promise<number> {
  const ids = await query<{ id: string }>(
    api,
    sql`select source_id as id from source_chunks order by random() limit ${reads}`,
  );
  const times: number[] = [];
  for (const { id } of ids) {
    const startedMs = performance.now();
    await findChunk(api, id, 0, 0);
    times.push(performance.now() - startedMs);
  }
  return median(times);
}

/**
 * Unique mails with text of random words out of 20,000: all as often, which is the dearest text there is, above all in the search index; or
 * as often as the words of a language (Zipf's law: the tenth word comes a tenth as often as the first).
 */
function textMails(sizeBytes: number, isLanguage: boolean): (number: number) => string {
  const letters = () => randomBytes(3 + Math.floor(Math.random() * 8)).map((byte) => 97 + (byte % 26));
  const vocabulary = Array.from({ length: 20_000 }, () => String.fromCharCode(...letters()));
  const rank = isLanguage ? () => vocabulary.length ** Math.random() - 1 : () => Math.random() * vocabulary.length;
  const word = () => vocabulary[Math.floor(rank())];
  return (number) => {
    let text = "";
    while (text.length < sizeBytes) text += `${Array.from({ length: 9 }, word).join(" ")}\r\n`;
    return `${head(number)}Content-Type: text/plain; charset=utf-8\r\n\r\n${text}`;
  };
}

/** Unique mails with a short text and an attached file of random bytes. */
function fileMails(sizeBytes: number): (number: number) => string {
  return (number) => {
    const base64 = randomBytes(Math.floor((sizeBytes * 3) / 4.11))
      .toBase64()
      .replace(/.{76}/g, "$&\r\n");
    return (
      `${head(number)}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n` +
      "--b\r\nContent-Type: text/plain\r\n\r\nThe file.\r\n" +
      `--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=${number}.pdf\r\n` +
      `Content-Transfer-Encoding: base64\r\n\r\n${base64}\r\n--b--\r\n`
    );
  };
}

function head(number: number): string {
  return (
    `From: Jane Doe <jane@example.com>\r\nTo: ada@inbox.localhost\r\nSubject: Mail ${number}\r\n` +
    `Date: Sat, 21 Mar 2026 10:05:00 +0000\r\nMessage-ID: <${crypto.randomUUID()}@example.com>\r\n`
  );
}
