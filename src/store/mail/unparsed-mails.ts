import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Envelope } from "../../domain/receive/inbound-mail.ts";
import { allFields, columnNames, fieldsOf, selected } from "../columns.ts";
import type { ClaimKey } from "../outbox/outbox-rows.ts";
import { recordSet } from "../rows.ts";
import { unparsedMails } from "../schema.ts";

/** A mail that waits to be parsed, with its envelope. */
export interface UnparsedMail {
  sourceId: string;
  receivedAt: Date;
  envelope: Envelope;
  sizeBytes: number;
  /** Null for a mail that is never treated as a copy. */
  contentHash: string | null;
}

type Row = typeof unparsedMails.$inferSelect;

/**
 * Inserts an unparsed mail and an outbox row, so that some process parses and files it later. Returns false and writes nothing if none of
 * its inboxes exists any more.
 */
export async function insertUnparsedMail(
  tx: Db,
  { envelope, ...unparsed }: UnparsedMail,
  lane: string,
): Promise<boolean> {
  const { from: envelopeFrom, client = null } = envelope;
  const { sourceId, receivedAt } = unparsed;
  const row: Row = { ...unparsed, envelopeFrom, recipients: [...envelope.recipients], client };
  const inboxIds = envelope.recipients.map(({ inboxId }) => inboxId);
  const written = await query(
    tx,
    sql`with promised as (
          insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, created_at)
          select ${sourceId}, 'parse', i.account_id, i.id, ${lane}, ${receivedAt}, ${receivedAt}
          from unnest(${arrayOf("text", inboxIds)}) as recipient (inbox_id)
          join inboxes i on i.id = recipient.inbox_id and i.deleted_at is null limit 1
          returning 1
        )
        insert into unparsed_mails (${columnNames(unparsedMails, fields)}) select ${fieldsOf("row", fields)}
        from ${recordSet(unparsedMails, [row], fields)} where exists (select from promised) returning 1`,
  );
  return written.length > 0;
}

const fields = allFields(unparsedMails);
const unparsedFields = selected(unparsedMails, "u", fields);

export async function listUnparsedMails(db: Db, sourceIds: readonly string[]): Promise<UnparsedMail[]> {
  const rows = await query<Row>(
    db,
    sql`select ${unparsedFields} from unparsed_mails u
        where u.source_id = any(array(select json_array_elements_text(${JSON.stringify(sourceIds)}::json)))`,
  );
  return rows.map(({ envelopeFrom: from, recipients, client, ...mail }) => ({
    ...mail,
    envelope: { from, recipients, client: client ?? undefined },
  }));
}

/** Whether a mail with this content waits to be parsed for one of these inboxes. */
export async function waitsToBeParsed(db: Db, contentHash: string, inboxIds: readonly string[]): Promise<boolean> {
  const found = await query(
    db,
    sql`select 1 from unparsed_mails u cross join lateral jsonb_array_elements(u.recipients) recipient
        where u.content_hash = ${contentHash} and recipient ->> 'inboxId' = any(${arrayOf("text", inboxIds)}) limit 1`,
  );
  return found.length > 0;
}

/**
 * Removes an unparsed mail and its outbox row, in the transaction that stores the parsed mail. False if the claim is no longer in force:
 * then the mail must not be stored.
 */
export async function removeUnparsedMail(tx: Db, { subjectId, attempt }: ClaimKey): Promise<boolean> {
  const removed = await query(
    tx,
    sql`with kept as (
          delete from outbox where subject_id = ${subjectId} and attempt = ${attempt} and state = 'running' returning 1
        )
        delete from unparsed_mails where source_id = ${subjectId} and exists (select from kept) returning 1`,
  );
  return removed.length > 0;
}

/** The result of an attempt to parse that did not store the mail. */
export interface ParseSettlement extends ClaimKey {
  /** When the next attempt is due; null if the mail does not exist. */
  dueAt: Date | null;
}

/** Sets the next attempts, and deletes outbox rows whose mail does not exist. Returns the subject ids of the claims that were in force. */
export async function settleParses(db: Db, settlements: readonly ParseSettlement[]): Promise<Set<string>> {
  const rows = await query<{ subjectId: string }>(
    db,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify(settlements)}::json)
            as settled ("subjectId" text, attempt int, "dueAt" timestamptz)
        ),
        dropped as (
          delete from outbox o using settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is null
            and not exists (select from unparsed_mails where source_id = o.subject_id)
          returning o.subject_id
        ),
        put_off as (
          update outbox o set state = 'waiting', due_at = "dueAt" from settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is not null
          returning o.subject_id
        )
        select subject_id as "subjectId" from dropped union all select subject_id from put_off`,
  );
  return new Set(rows.map(({ subjectId }) => subjectId));
}
