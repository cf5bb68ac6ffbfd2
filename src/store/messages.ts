import { sql } from "drizzle-orm";
import { type Db, query } from "./db.ts";
import { insertRows, recordSet } from "./rows.ts";
import { attachments, correspondents, messages } from "./schema.ts";

export type MessageRow = typeof messages.$inferSelect;
export type AttachmentRow = typeof attachments.$inferSelect;

export function insertMessages(tx: Db, rows: readonly (typeof messages.$inferInsert)[]): Promise<void> {
  return insertRows(tx, messages, rows);
}

export function insertAttachments(tx: Db, rows: readonly AttachmentRow[]): Promise<void> {
  return insertRows(tx, attachments, rows);
}

export interface Copy {
  inboxId: string;
  messageIdHash: string;
  contentHash: string;
}

/** Which of these mails their inbox already has, by Message-ID and content, since `notBefore`. */
export async function listKnownCopies(tx: Db, copies: readonly Copy[], notBefore: Date): Promise<Copy[]> {
  if (copies.length === 0) return [];
  return query<Copy & Record<string, unknown>>(
    tx,
    sql`select row."inboxId", row."messageIdHash", row."contentHash"
        from ${recordSet(messages, copies, ["inboxId", "messageIdHash", "contentHash"])}
        where exists (select from messages m where m.inbox_id = row."inboxId" and m.message_id_hash = row."messageIdHash"
          and m.content_hash = row."contentHash" and m.created_at > ${notBefore})`,
  );
}

/** Remembers who has written to an inbox; mail to them is not cold any more. */
export function insertCorrespondents(tx: Db, rows: readonly (typeof correspondents.$inferInsert)[]): Promise<void> {
  return insertRows(tx, correspondents, rows, sql` on conflict do nothing`);
}
