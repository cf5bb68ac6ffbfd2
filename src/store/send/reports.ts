import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Chunk } from "../../domain/receive/filed-mails.ts";
import type { KeptReport, KnownMessage } from "../../domain/reports/reported-message.ts";
import type { ReportedRows } from "../../domain/reports/reported-rows.ts";
import { allFields, asJson, columnNames, fieldsOf, replaced, selected } from "../columns.ts";
import { eventsAndDeliveries, hasDeliveries, newEvents } from "../events/fan-out.ts";
import { chunkBytes, findChunk, insertSources, sourcesInserted } from "../mail/sources.ts";
import { recordSet } from "../rows.ts";
import { messages, recipients, reports, suppressions } from "../schema.ts";
import { recipientsOf } from "./recipients.ts";
import { automaticSuppressions, suppressionColumns } from "./suppressions.ts";

const ofMessage = selected(messages, "m", ["id", "inboxId", "threadId", "providerMessageId", "createdAt"]);
const selectedReport = selected(reports, "r");
const ofRecipient = asJson(recipients, "r", ["position", "address"]);

/** Locks outbound messages whose inboxes exist, with their reports, until the end of the transaction. */
export async function lockReportedMessages(tx: Db, ids: readonly string[]): Promise<KnownMessage[]> {
  const wanted = arrayOf("text", ids);
  const found = await query<Omit<KnownMessage, "reports">>(
    tx,
    sql`select ${ofMessage}, i.account_id as "accountId", ${recipientsOf("m", ofRecipient)} as recipients
        from messages m join inboxes i on i.id = m.inbox_id and i.deleted_at is null
        where m.id = any(${wanted}) and m.direction = 'outbound' order by m.id for no key update of m`,
  );
  if (found.length === 0) return [];
  // A separate statement, because only one that begins after the lock sees the reports that others wrote during the wait for it.
  const known = await query<KeptReport>(
    tx,
    sql`select ${selectedReport} from reports r where r.message_id = any(${wanted}) order by r.received_at, r.id`,
  );
  const reportsOf = Map.groupBy(known, ({ messageId }) => messageId);
  return found.map((message) => ({ ...message, reports: reportsOf.get(message.id) ?? [] }));
}

export interface RawReport {
  id: string;
  chunks: readonly Chunk[];
}

export interface WrittenReports {
  hasDeliveries: boolean;
  /** The ids of the suppressions that are new. */
  suppressed: readonly string[];
}

/** Writes the reports and all that follows from them in one statement, under the lock. Large raw reports are written before, in pieces. */
export async function insertReports(tx: Db, rows: ReportedRows, raw: readonly RawReport[]): Promise<WrittenReports> {
  const sources = raw.map((one) => ({ ...one, shares: 1 }));
  const small = sources.filter(({ chunks }) => chunks.length === 1);
  await insertSources(
    tx,
    sources.filter((source) => !small.includes(source)),
  );
  const parts: SQL[] = [];
  if (rows.reports.length > 0) parts.push(sql`report as (${reportsWritten(rows.reports)})`);
  if (rows.messages.length > 0)
    parts.push(sql`message as (update messages m set delivery = row.delivery
      from ${recordSet(messages, rows.messages, ["id", "delivery"])} where m.id = row.id)`);
  if (rows.recipients.length > 0)
    parts.push(sql`recipient as (update recipients r set delivery = row.delivery
      from ${recordSet(recipients, rows.recipients, ["messageId", "position", "delivery"])}
      where r.message_id = row."messageId" and r.position = row.position)`);
  if (rows.suppressions.length > 0)
    parts.push(
      sql`suppressed as (${automaticSuppressions(recordSet(suppressions, rows.suppressions, suppressionColumns))})`,
    );
  if (small.length > 0) parts.push(sql`source as (${sourcesInserted(small, sql``)})`);
  if (rows.goneSources.length > 0)
    parts.push(
      sql`replaced as (delete from source_chunks where source_id = any(${arrayOf("text", rows.goneSources)}))`,
    );
  if (rows.events.length === 0 && parts.length === 0) return { hasDeliveries: false, suppressed: [] };
  const mayAdd = rows.suppressions.length > 0;
  const events = newEvents(rows.events, mayAdd ? ifSuppressionIsNew : undefined);
  const added = mayAdd ? sql`(select array_agg(id) from suppressed)` : sql`null::text[]`;
  const [written] = await query<{ hasDeliveries: boolean; suppressed: string[] | null }>(
    tx,
    sql`with ${sql.join([...parts, events, eventsAndDeliveries], sql`, `)} select ${hasDeliveries}, ${added} as suppressed`,
  );
  return { hasDeliveries: written?.hasDeliveries === true, suppressed: written?.suppressed ?? [] };
}

/** Leaves out the `suppression.added` events of suppressions that existed before. */
const ifSuppressionIsNew = sql` where row.type <> 'suppression.added'
  or row.data->'suppression'->>'id' in (select id from suppressed)`;

const reportFields = allFields(reports);
const reportChanges = reportFields.filter((field) => field !== "id");

function reportsWritten(rows: readonly KeptReport[]): SQL {
  return sql`insert into reports (${columnNames(reports, reportFields)}) select ${fieldsOf("row", reportFields)}
    from ${recordSet(reports, rows, reportFields)} on conflict (id) do update set ${replaced(reports, reportChanges)}`;
}

/** The message to whose return path a mail was sent, and the inbox of that message. */
export interface ReturnedMessage {
  inboxId: string;
  username: string;
  createdAt: Date;
  messageIdHash: string;
  /** The addresses of all recipients. */
  sentTo: string[];
}

/** Finds the message of a return path. Undefined if we did not send it, or if its inbox was deleted. */
export async function findReturnedMessage(db: Db, messageId: string): Promise<ReturnedMessage | undefined> {
  const [returned] = await query<ReturnedMessage>(
    db,
    sql`select m.inbox_id as "inboxId", i.username, m.created_at as "createdAt", m.message_id_hash as "messageIdHash",
          (select json_agg(r.address order by r.position) from recipients r where r.message_id = m.id) as "sentTo"
        from messages m join inboxes i on i.id = m.inbox_id and i.deleted_at is null
        where m.id = ${messageId} and m.direction = 'outbound'`,
  );
  return returned;
}

/** Lists the reports of a message, the first received one first. */
export function listReports(db: Db, messageId: string): Promise<KeptReport[]> {
  return query(
    db,
    sql`select ${selectedReport} from reports r where r.message_id = ${messageId} order by r.received_at, r.id`,
  );
}

export async function findReport(db: Db, messageId: string, id: string): Promise<KeptReport | undefined> {
  const [report] = await query<KeptReport>(
    db,
    sql`select ${selectedReport} from reports r where r.id = ${id} and r.message_id = ${messageId}`,
  );
  return report;
}

/** Finds the size of the raw mail or report of a source; undefined if its bytes are deleted. */
export async function findSourceSize(db: Db, sourceId: string): Promise<number | undefined> {
  const [last] = await query<{ seq: number }>(
    db,
    sql`select seq from source_chunks where source_id = ${sourceId} and part = 0 order by seq desc limit 1`,
  );
  const piece = last && (await findChunk(db, sourceId, 0, last.seq));
  return last && piece && last.seq * chunkBytes + piece.length;
}
