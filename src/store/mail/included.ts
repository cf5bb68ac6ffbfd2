import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
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
export type IncludedRow = Selected<typeof includedFields>;

export async function listIncluded(db: Db, messageIds: readonly string[]): Promise<IncludedRow[]> {
  if (messageIds.length === 0) return [];
  return query(db, sql`select ${includedFields} from messages m where m.id = any(${arrayOf("text", messageIds)})`);
}
