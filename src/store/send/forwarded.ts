import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type Selected, selected } from "../columns.ts";
import { attachments, messages } from "../schema.ts";

const forwardedFields = selected(messages, "m", [
  ...(["id", "direction", "fromAddr", "fromName", "createdAt", "subject", "toAddr", "toAddrs", "cc"] as const),
  ...(["bodyText", "bodyHtml", "sourceId", "sizeBytes", "attachmentCount"] as const),
]);

export type ForwardedRow = Selected<typeof forwardedFields>;

/** A message of a living inbox of the account. */
export async function findForwarded(db: Db, accountId: string, id: string): Promise<ForwardedRow | undefined> {
  const [message] = await query<ForwardedRow>(
    db,
    sql`select ${forwardedFields} from messages m join inboxes i on i.id = m.inbox_id
        where m.id = ${id} and i.account_id = ${accountId} and i.deleted_at is null`,
  );
  return message;
}

const fileFields = selected(attachments, "a", [
  ...(["filename", "contentType", "sizeBytes", "contentId", "inline", "sourceId", "part", "digest"] as const),
]);

export type AttachedFile = Selected<typeof fileFields>;

/** The files of a message with where their bytes lie, in their order. */
export function listAttachedFiles(db: Db, messageId: string): Promise<AttachedFile[]> {
  return query(db, sql`select ${fileFields} from attachments a where a.message_id = ${messageId} order by a.position`);
}
