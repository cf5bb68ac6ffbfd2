import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { type Database, type Db, query, transaction } from "../../database/db.ts";
import { columnName, columnsOf, selected } from "../columns.ts";
import { bytesOf, type ChunkRow, insertChunkRows } from "../mail/sources.ts";
import { insertRows, recordSet } from "../rows.ts";
import * as schema from "../schema.ts";

/** The tables of an export, in the order in which they are read and written. Events keep their positions in the log. */
export const portable: readonly { table: PgTable; order: string; rowsALine: number }[] = [
  { table: schema.settings, order: "name", rowsALine: 100 },
  { table: schema.accounts, order: "id", rowsALine: 100 },
  { table: schema.apiKeys, order: "id", rowsALine: 100 },
  { table: schema.operatorKeys, order: "id", rowsALine: 100 },
  { table: schema.oauthClients, order: "id", rowsALine: 100 },
  { table: schema.grants, order: "id", rowsALine: 100 },
  { table: schema.domains, order: "id", rowsALine: 100 },
  { table: schema.domainKeys, order: "domain_id, selector", rowsALine: 100 },
  { table: schema.endpoints, order: "id", rowsALine: 100 },
  { table: schema.inboxes, order: "id", rowsALine: 100 },
  { table: schema.addresses, order: "username", rowsALine: 100 },
  { table: schema.threads, order: "id", rowsALine: 100 },
  { table: schema.threadLabels, order: "thread_id, label", rowsALine: 100 },
  { table: schema.labelCounts, order: "inbox_id, label", rowsALine: 100 },
  { table: schema.messages, order: "id", rowsALine: 20 },
  { table: schema.recipients, order: "message_id, position", rowsALine: 100 },
  { table: schema.drafts, order: "id", rowsALine: 20 },
  { table: schema.letters, order: "id", rowsALine: 100 },
  { table: schema.reports, order: "id", rowsALine: 100 },
  { table: schema.messageNames, order: "name_hash, message_id", rowsALine: 100 },
  { table: schema.suppressions, order: "id", rowsALine: 100 },
  { table: schema.rules, order: "id", rowsALine: 100 },
  { table: schema.policies, order: "account_id, inbox_id, external_id", rowsALine: 100 },
  { table: schema.quarantine, order: "id", rowsALine: 20 },
  { table: schema.uploads, order: "id", rowsALine: 100 },
  { table: schema.awaitedParents, order: "inbox_id, message_id_hash", rowsALine: 100 },
  { table: schema.removedMessages, order: "inbox_id, message_id_hash, message_id", rowsALine: 100 },
  { table: schema.removedThreads, order: "thread_id", rowsALine: 100 },
  { table: schema.attachments, order: "message_id, filename", rowsALine: 100 },
  { table: schema.sourceChunks, order: "source_id, part, seq", rowsALine: 4 },
  { table: schema.unparsedMails, order: "source_id", rowsALine: 20 },
  { table: schema.correspondents, order: "inbox_id, address", rowsALine: 100 },
  { table: schema.approvedRecipients, order: "inbox_id, address", rowsALine: 100 },
  { table: schema.usedTokens, order: "token", rowsALine: 100 },
  { table: schema.coldSends, order: "inbox_id, recipient, sent_on", rowsALine: 100 },
  { table: schema.idempotencyKeys, order: "account_id, operation, key", rowsALine: 100 },
  { table: schema.events, order: "written_by, id", rowsALine: 100 },
  { table: schema.deliveries, order: "event_id, lane, attempt", rowsALine: 20 },
  { table: schema.outbox, order: "subject_id", rowsALine: 100 },
  { table: schema.auditEntries, order: "id", rowsALine: 100 },
  { table: schema.usageDays, order: "account_id, day, inbox_id", rowsALine: 100 },
  { table: schema.countedInboxes, order: "inbox_id", rowsALine: 100 },
];

/** The tables that an export leaves out, each with the reason. A test compares both lists with the schema. */
export const leftOut: readonly { table: PgTable; why: string }[] = [
  { table: schema.messageSearch, why: "the search index is rebuilt from the messages" },
  { table: schema.threadBlocks, why: "they are counted again from the threads" },
  { table: schema.searchIndexing, why: "it is the progress of that index" },
  { table: schema.searchIndexers, why: "they are the processes that fill it" },
  { table: schema.segments, why: "an export has the bytes of all chunks" },
  { table: schema.packing, why: "it is the progress of packing sources into segments" },
  { table: schema.usageCounting, why: "each counted inbox has its own progress" },
  { table: schema.recentRequests, why: "they count for an hour at most" },
];

export type PortableRow = Record<string, unknown>;

export interface PortableLine {
  table: string;
  rows: PortableRow[];
  /** Only in an export of changes: the rows are gone, and have nothing but their primary keys. */
  gone?: true;
}

/** A table to read, with the rows to read as the rest of a select after `from`. They are called `t`. */
export interface ReadTable {
  table: PgTable;
  rowsALine: number;
  rows: SQL;
}

/** Reads all rows of the portable tables. */
export function readEverything(db: Database, onLine: OnLine): Promise<void> {
  return readTables(
    db,
    portable.map(({ table, order, rowsALine }) => {
      return { table, rowsALine, rows: sql`${sql.identifier(nameOf(table))} t order by ${sql.raw(order)}` };
    }),
    onLine,
  );
}

type OnLine = (line: PortableLine) => Promise<void>;

/**
 * Reads these tables as they are at one instant, and calls `onLine` for each line, so that memory stays small. In the embedded database,
 * which has one connection, all other statements wait until the end.
 */
export async function readTables(db: Database, tables: readonly ReadTable[], onLine: OnLine): Promise<void> {
  await db.maintain((own) =>
    transaction(own, async (tx) => {
      await query(tx, sql`set transaction isolation level repeatable read, read only`);
      for (const { table, rows: chosen, rowsALine } of tables) {
        const name = nameOf(table);
        // Each table's cursor has its own name: a prepared FETCH keeps the columns of the first cursor that had its name.
        const cursor = sql.raw(`portable_${name}`);
        await query(tx, sql`declare ${cursor} no scroll cursor for select ${selected(table, "t")} from ${chosen}`);
        for (;;) {
          const rows = await query<PortableRow>(tx, sql`fetch ${sql.raw(String(rowsALine))} from ${cursor}`);
          if (rows.length > 0) await onLine({ table: name, rows: (await wholeRows(db, table, rows)).map(toPortable) });
          if (rows.length < rowsALine) break;
        }
        await query(tx, sql`close ${cursor}`);
      }
    }),
  );
}

/** Rows with all of their bytes: those of chunks that are in a segment are read from the object store. */
async function wholeRows({ work }: Database, table: PgTable, rows: PortableRow[]): Promise<PortableRow[]> {
  if (table !== schema.sourceChunks) return rows;
  const chunks = rows as (typeof schema.sourceChunks.$inferSelect)[];
  return Promise.all(
    chunks.map(async ({ segmentId, segmentAt, sealedBytes, sealKey, bytes, ...chunk }) => ({
      ...chunk,
      bytes: await bytesOf(work, { segmentId, segmentAt, sealedBytes, sealKey, bytes }),
    })),
  );
}

/** Inserts the rows of a line. Skips those that exist, so that a line may be inserted twice. */
export async function insertLine(tx: Db, line: PortableLine): Promise<void> {
  await insertRowsOf(tx, line, sql` on conflict do nothing`);
}

/** Inserts the rows of a line. Fails if one of them exists. */
export async function insertNewLine(tx: Db, line: PortableLine): Promise<void> {
  await insertRowsOf(tx, line, sql``);
}

async function insertRowsOf(tx: Db, { table: name, rows }: PortableLine, ending: SQL): Promise<void> {
  const { table } = portableNamed(name);
  if (table === schema.sourceChunks) return insertChunkRows(tx, rows.map(chunkOf), ending);
  await insertRows(tx, table, rows, ending);
}

/** Deletes the rows of a line, found by their primary keys. */
export async function deleteLine(tx: Db, line: PortableLine): Promise<void> {
  const { table } = portableNamed(line.table);
  const fields = keyOf(table);
  const isSame = Object.entries(columnsOf(table, fields)).map(
    ([field, column]) => sql`t.${sql.identifier(columnName(column))} = row.${sql.identifier(field)}`,
  );
  await query(
    tx,
    sql`delete from ${sql.identifier(line.table)} t using ${recordSet(table, keysOf(line), fields)}
        where ${sql.join(isSame, sql` and `)}`,
  );
}

/** The primary keys of the rows of a line. */
export function keysOf({ table: name, rows }: PortableLine): PortableRow[] {
  const fields = keyOf(portableNamed(name).table);
  return rows.map((row) => Object.fromEntries(fields.map((field) => [field, row[field]])));
}

/** The fields of the primary key of a table. */
function keyOf(table: PgTable): string[] {
  const together = new Set(getTableConfig(table).primaryKeys.flatMap(({ columns }) => columns.map(({ name }) => name)));
  return Object.entries(getTableColumns(table)).flatMap(([field, column]) =>
    column.primary || together.has(column.name) ? field : [],
  );
}

function portableNamed(name: string) {
  const entry = portable.find(({ table }) => nameOf(table) === name);
  if (entry === undefined) throw new Error(`Cannot import: this version has no table ${name}`);
  return entry;
}

export function nameOf(table: PgTable): string {
  return getTableConfig(table).name;
}

/** Lists the ids of all accounts, which show whether a database is that of the exported service or of another one. */
export async function listAccountIds(db: Db): Promise<string[]> {
  const rows = await query<{ id: string }>(db, sql`select id from accounts`);
  return rows.map(({ id }) => id);
}

/** Makes the indexer look again at the messages from this id on, by default at all, since it has not seen the imported ones. */
export async function forgetIndexedMail(tx: Db, fromId = ""): Promise<void> {
  await query(tx, sql`update search_indexing set seen_id = ${fromId} where seen_id > ${fromId}`);
}

/** Makes a row fit for JSON: bytes become base64. */
function toPortable(row: PortableRow): PortableRow {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Uint8Array ? value.toBase64() : value,
  ]);
  return Object.fromEntries(entries);
}

function chunkOf({ bytes, ...row }: PortableRow): ChunkRow {
  return { ...(row as unknown as Omit<ChunkRow, "bytes">), bytes: Uint8Array.fromBase64(bytes as string) };
}
