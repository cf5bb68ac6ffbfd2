import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { asJson, type Selected, selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { attachments, messages } from "../schema.ts";

const forwardedFields = selected(messages, "m", [
  "id",
  "direction",
  "fromAddr",
  "fromName",
  "createdAt",
  "subject",
  "toAddrs",
  "cc",
  "sourceId",
  "sizeBytes",
]);

const fileFields = [
  "filename",
  "contentType",
  "sizeBytes",
  "contentId",
  "inline",
  "sourceId",
  "part",
  "digest",
] as const;

export type AttachedFile = Pick<typeof attachments.$inferSelect, (typeof fileFields)[number]>;

export type ForwardedRow = Selected<typeof forwardedFields> & {
  bodyText: string;
  bodyHtml: string | null;
  /** The attachments in order, with the location of their bytes. */
  files: readonly AttachedFile[];
};

/** Which parts of the message to read in addition to its header fields. */
export interface WantedOfForward {
  bodies: boolean;
  files: boolean;
}

/** The most characters of a text to read. A forward quotes at most 1 MiB: more is read, so that a longer text is recognised and cut. */
const mostTextCharacters = 2 << 20;
/** One character more than a forward uses of an HTML body, so that a longer body is recognised. */
const mostHtmlCharacters = (512 << 10) + 1;

/** Finds the message to forward, if its inbox is within the reach. */
export async function findForwarded(
  db: Db,
  reach: Reach,
  id: string,
  { bodies, files }: WantedOfForward,
): Promise<ForwardedRow | undefined> {
  const [message] = await query<ForwardedRow>(
    db,
    sql`select ${forwardedFields},
          case when ${bodies}::boolean then left(m.body_text, ${mostTextCharacters}::int) else '' end as "bodyText",
          case when ${bodies}::boolean then left(m.body_html, ${mostHtmlCharacters}::int) end as "bodyHtml",
          case when ${files}::boolean and m.attachment_count > 0 then (
            select json_agg(${asJson(attachments, "a", fileFields)} order by a.position) from attachments a where a.message_id = m.id
          ) else '[]' end as files
        from messages m join inboxes i on i.id = m.inbox_id
        where m.id = ${id} and ${isReached(reach)}`,
  );
  return message;
}
