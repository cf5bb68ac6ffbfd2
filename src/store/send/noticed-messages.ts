import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { recordSet } from "../rows.ts";
import { messageNames } from "../schema.ts";

/** A name that somebody has for a message of ours: its id, or the hash of what others call it. */
export interface AskedName {
  messageId?: string | undefined;
  nameHash?: string | undefined;
}

/** A message that we sent, and by which of the names that were asked for it was found. */
export interface NoticedMessage {
  id: string;
  /** The addresses that it went to. */
  recipients: string[];
  foundBy: string;
}

/** The messages of ours that have these names, in inboxes that are there. */
export async function listNoticedMessages(db: Db, names: readonly AskedName[]): Promise<NoticedMessage[]> {
  if (names.length === 0) return [];
  const asked = names.map(({ messageId = null, nameHash = null }) => ({ messageId, nameHash }));
  return await query<NoticedMessage>(
    db,
    sql`select m.id, found.by as "foundBy", coalesce(
          (select json_agg(r.address order by r.position) from recipients r where r.message_id = m.id),
          json_build_array(m.to_addr)) as recipients
        from (
          select coalesce(row."messageId", n.message_id) as message_id, coalesce(row."messageId", row."nameHash"::text) as by
          from ${recordSet(messageNames, asked, ["messageId", "nameHash"])}
          left join lateral (select * from message_names where name_hash = row."nameHash" limit 10) n on true
        ) found
        cross join lateral (select * from messages where id = found.message_id and direction = 'outbound' limit 1) m
        join inboxes i on i.id = m.inbox_id and i.deleted_at is null`,
  );
}
