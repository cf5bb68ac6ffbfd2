import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { asJson, type Selected, selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { attachments } from "../schema.ts";

const shownOfAttachment = ["id", "filename", "contentType", "sizeBytes", "contentId", "inline"] as const;
const shownFields = selected(attachments, "a", ["messageId", ...shownOfAttachment]);

/** The fields of an attachment that the API shows. */
export type ShownAttachment = Selected<typeof shownFields>;

/** Selects a shown attachment `a` as JSON, for a statement that reads its message. */
export const listedAttachment = asJson(attachments, "a", shownOfAttachment);
export type ListedAttachment = Omit<ShownAttachment, "messageId">;

/**
 * Lists the attachments of these messages, in their order in each message. The ids are an array, because the planner assumes that arrays
 * are short; with a subselect it would scan the whole table.
 */
export async function listAttachments(db: Db, messageIds: readonly string[]): Promise<ShownAttachment[]> {
  if (messageIds.length === 0) return [];
  return query(
    db,
    sql`select ${shownFields} from attachments a where a.message_id = any(${arrayOf("text", messageIds)})
        order by a.message_id, a.position`,
  );
}

const outgoingFields = selected(attachments, "a", [
  "messageId",
  "filename",
  "contentType",
  "sizeBytes",
  "contentId",
  "inline",
  "sourceId",
  "part",
]);

/** An attachment of an outbound mail. */
export type MailedAttachment = Selected<typeof outgoingFields>;

/** Lists the attachments of these outbound messages, in their order in each message. */
export async function listOutgoingAttachments(db: Db, messageIds: readonly string[]): Promise<MailedAttachment[]> {
  if (messageIds.length === 0) return [];
  return query(
    db,
    sql`select ${outgoingFields} from attachments a where a.message_id = any(${arrayOf("text", messageIds)})
        order by a.message_id, a.position`,
  );
}

const storedFields = selected(attachments, "a", [
  "messageId",
  "filename",
  "contentType",
  "sizeBytes",
  "sourceId",
  "part",
  "digest",
]);

/** An attachment with its account and the location of its bytes, for a download. */
export type StoredAttachment = Selected<typeof storedFields> & { accountId: string };

/** Finds an attachment by its message and filename, if the inbox of the message is within the reach. Without a reach: if that inbox exists. */
export async function findAttachment(
  db: Db,
  reach: Reach | undefined,
  messageId: string,
  filename: string,
): Promise<StoredAttachment | undefined> {
  const [attachment] = await query<StoredAttachment>(
    db,
    sql`select ${storedFields}, i.account_id as "accountId"
        from attachments a
        cross join lateral (select inbox_id from messages where id = a.message_id
          union all select inbox_id from drafts where id = a.message_id limit 1) m
        join inboxes i on i.id = m.inbox_id
        where a.message_id = ${messageId} and a.filename = ${filename}
          and ${reach === undefined ? sql`i.deleted_at is null` : isReached(reach)}`,
  );
  return attachment;
}
