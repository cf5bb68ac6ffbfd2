import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Metadata } from "../../domain/metadata.ts";
import { type Selected, selected } from "../columns.ts";
import { messages } from "../schema.ts";

const includedFields = selected(messages, "m", [
  "id",
  "direction",
  "fromName",
  "replyTo",
  "bodyHtml",
  "inReplyTo",
  "automated",
  "toAddrs",
  "authentication",
  "spam",
]);

/** The fields of a message for those parts of an event that an endpoint gets only if its `include` names them. */
export interface IncludedRow extends Selected<typeof includedFields> {
  threadMetadata: Metadata | null;
}

export async function listIncluded(db: Db, messageIds: readonly string[]): Promise<IncludedRow[]> {
  if (messageIds.length === 0) return [];
  return query(
    db,
    sql`select ${includedFields}, (select metadata from threads where id = m.thread_id) as "threadMetadata"
        from messages m where m.id = any(${arrayOf("text", messageIds)})`,
  );
}
