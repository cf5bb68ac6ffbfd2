import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { OtherName } from "../../domain/send/wire-name.ts";
import { recordSet } from "../rows.ts";
import { messageNames } from "../schema.ts";

/** By what else than its own Message-ID a mail is known since an attempt. */
export interface Named {
  names?: readonly OtherName[] | undefined;
}

/** Keeps the names, of a set that has `message_id` beside them, as part of the statement that settles attempts. */
export function keptNames(settled: SQL): SQL {
  return sql`named as (
      insert into message_names (name_hash, message_id, inbox_id, thread_id, name)
      select distinct other."nameHash", m.id, m.inbox_id, m.thread_id, other.name
      from ${settled} settled join messages m on m.id = settled.message_id
      cross join lateral jsonb_to_recordset(settled.names) as other (name text, "nameHash" uuid)
      where settled.names is not null on conflict do nothing
    )`;
}

/** Keeps names that were told later; those that are known stay as they are. */
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
