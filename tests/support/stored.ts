import { sql } from "drizzle-orm";
import { type Db, query } from "../../src/database/db.ts";
import { findChunk } from "../../src/store/mail/sources.ts";

/** Reads rows of the database directly. */
export interface StoredMessage extends Record<string, unknown> {
  id: string;
  inboxId: string;
  threadId: string;
  seq: number;
  directionSeq: number;
  rfcMessageId: string;
  fromAddr: string;
  fromName: string | null;
  toAddr: string;
  cc: string[];
  replyTo: string | null;
  subject: string;
  bodyText: string;
  bodyHtml: string | null;
  attachmentCount: number;
  sourceId: string;
  sizeBytes: number;
  createdAt: Date;
  envelopeFrom: string | null;
  truncated: boolean;
}

export function storedMessages(db: Db, inboxId: string): Promise<StoredMessage[]> {
  return query<StoredMessage>(
    db,
    sql`select id, inbox_id as "inboxId", thread_id as "threadId", seq, direction_seq as "directionSeq",
          rfc_message_id as "rfcMessageId", from_addr as "fromAddr", from_name as "fromName", to_addr as "toAddr", cc,
          reply_to as "replyTo", subject, body_text as "bodyText", body_html as "bodyHtml",
          attachment_count as "attachmentCount", source_id as "sourceId", size_bytes as "sizeBytes",
          created_at as "createdAt", envelope_from as "envelopeFrom", truncated
        from messages where inbox_id = ${inboxId} order by seq`,
  );
}

/** The bytes of one part of a source: 0 is the raw mail, the others its attachments. */
export async function storedBytes(db: Db, sourceId: string, part = 0): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await findChunk(db, sourceId, part, pieces.length);
    if (piece === undefined) return Buffer.concat(pieces);
    pieces.push(piece);
  }
}

export interface StoredAttachment extends Record<string, unknown> {
  filename: string;
  contentType: string;
  sizeBytes: number;
  contentId: string | null;
  inline: boolean;
  sourceId: string;
  part: number;
  digest: string;
}

export function storedAttachments(db: Db, messageId: string): Promise<StoredAttachment[]> {
  return query<StoredAttachment>(
    db,
    sql`select filename, content_type as "contentType", size_bytes as "sizeBytes", content_id as "contentId", inline,
          source_id as "sourceId", part, digest from attachments where message_id = ${messageId} order by position`,
  );
}

/** The number of rows of a table, optionally of one inbox. */
export async function countRows(db: Db, table: string, inboxId?: string): Promise<number> {
  const where = inboxId === undefined ? sql`` : sql` where inbox_id = ${inboxId}`;
  const [row] = await query<{ count: number }>(db, sql`select count(*) from ${sql.identifier(table)}${where}`);
  return row?.count ?? 0;
}

/** Events of one type, of all inboxes or of one. */
export async function countEvents(db: Db, type: string, inboxId?: string): Promise<number> {
  const ofInbox = inboxId === undefined ? sql`` : sql` and inbox_id = ${inboxId}`;
  const [row] = await query<{ count: number }>(db, sql`select count(*) from events where type = ${type}${ofInbox}`);
  return row?.count ?? 0;
}
