import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { AttachmentRow } from "./messages.ts";

/** What is shown of an attachment. */
export type ShownAttachment = Pick<
  AttachmentRow,
  "messageId" | "id" | "filename" | "contentType" | "sizeBytes" | "contentId" | "inline"
>;

/** The same, beside its message. */
export type ListedAttachment = Omit<ShownAttachment, "messageId">;

/**
 * The attachments of these messages, each message's in their order. The ids are an array, of which the planner believes
 * that it is short: of a subselect it would not, and read the whole table.
 */
export async function listAttachments(db: Db, messageIds: readonly string[]): Promise<ShownAttachment[]> {
  if (messageIds.length === 0) return [];
  return query<ShownAttachment & Record<string, unknown>>(
    db,
    sql`select message_id as "messageId", id, filename, content_type as "contentType", size_bytes as "sizeBytes",
          content_id as "contentId", inline
        from attachments where message_id = any(${arrayOf("text", messageIds)})
        order by message_id, position`,
  );
}

/** What a download needs of an attachment: where its bytes lie, and whose they are. */
export type StoredAttachment = Pick<
  AttachmentRow,
  "messageId" | "filename" | "contentType" | "sizeBytes" | "sourceId" | "part" | "digest"
> & { accountId: string };

/** An attachment of an inbox that lives. */
export async function findAttachment(
  db: Db,
  messageId: string,
  filename: string,
): Promise<StoredAttachment | undefined> {
  const [attachment] = await query<StoredAttachment & Record<string, unknown>>(
    db,
    sql`select a.message_id as "messageId", a.filename, a.content_type as "contentType", a.size_bytes as "sizeBytes",
          a.source_id as "sourceId", a.part, a.digest, i.account_id as "accountId"
        from attachments a join messages m on m.id = a.message_id join inboxes i on i.id = m.inbox_id
        where a.message_id = ${messageId} and a.filename = ${filename} and i.deleted_at is null`,
  );
  return attachment;
}
