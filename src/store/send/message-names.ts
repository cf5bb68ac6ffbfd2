import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { OtherName } from "../../domain/send/wire-name.ts";
import { recordSet } from "../rows.ts";
import { messageNames } from "../schema.ts";

/** The names that a relay gave to a mail in an attempt, in addition to the mail's own Message-ID. */
export interface Named {
  names?: readonly OtherName[] | undefined;
}

/** A part of the statement that settles attempts: inserts the names of a set that has `message_id` and `names`. */
export function keptNames(settled: SQL): SQL {
  return sql`named as (
      insert into message_names (name_hash, message_id, inbox_id, thread_id, name)
      select distinct other."nameHash", m.id, m.inbox_id, m.thread_id, other.name
      from ${settled} settled join messages m on m.id = settled.message_id
      cross join lateral jsonb_to_recordset(settled.names) as other (name text, "nameHash" uuid)
      where settled.names is not null on conflict do nothing
    )`;
}

/** Inserts names that become known after an attempt. Skips names that are known already. */
export async function insertNames(db: Db, names: readonly (OtherName & { messageId: string })[]): Promise<void> {
  if (names.length === 0) return;
  await query(
    db,
    sql`insert into message_names (name_hash, message_id, inbox_id, thread_id, name)
        select distinct row."nameHash", m.id, m.inbox_id, m.thread_id, row.name
        from ${recordSet(messageNames, names, ["messageId", "name", "nameHash"])} join messages m on m.id = row."messageId"
        on conflict do nothing`,
  );
}

/** Finds the id of a message that was sent under one of these names, given by their hashes. */
export async function findMessageNamed(db: Db, nameHashes: readonly string[]): Promise<string | undefined> {
  const [found] = await query<{ messageId: string }>(
    db,
    sql`select message_id as "messageId" from message_names
        where name_hash = any(${arrayOf("text", nameHashes)}::uuid[]) limit 1`,
  );
  return found?.messageId;
}

/** One of our messages, given by its id, or by the hash of the name by which another server knows it. */
export interface AskedName {
  messageId?: string | undefined;
  nameHash?: string | undefined;
}

/** An outbound message, and the id or name hash by which it was found. */
export interface NoticedMessage {
  id: string;
  /** The addresses of its recipients. */
  recipients: string[];
  foundBy: string;
}

/** Lists the outbound messages with these names, if their inboxes exist. */
export async function listNoticedMessages(db: Db, names: readonly AskedName[]): Promise<NoticedMessage[]> {
  if (names.length === 0) return [];
  const asked = names.map(({ messageId = null, nameHash = null }) => ({ messageId, nameHash }));
  return await query<NoticedMessage>(
    db,
    sql`select m.id, found.by as "foundBy",
          (select json_agg(r.address order by r.position) from recipients r where r.message_id = m.id) as recipients
        from (
          select coalesce(row."messageId", n.message_id) as message_id, coalesce(row."messageId", row."nameHash"::text) as by
          from ${recordSet(messageNames, asked, ["messageId", "nameHash"])}
          left join lateral (select * from message_names where name_hash = row."nameHash" limit 10) n on true
        ) found
        cross join lateral (select * from messages where id = found.message_id and direction = 'outbound' limit 1) m
        join inboxes i on i.id = m.inbox_id and i.deleted_at is null`,
  );
}
