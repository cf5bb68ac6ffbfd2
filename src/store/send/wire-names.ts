import { type SQL, sql } from "drizzle-orm";

/** Under which Message-ID a relay handed a mail on, where that is not ours; with its hash. */
export interface WireNamed {
  wireName?: string | undefined;
  wireNameHash?: string | undefined;
}

/** Keeps the names, of a set that has `message_id` beside them, as part of the statement that settles attempts. */
export function keptWireNames(settled: SQL): SQL {
  return sql`named as (
      insert into message_names (name_hash, message_id, inbox_id, thread_id, name)
      select distinct settled."wireNameHash", m.id, m.inbox_id, m.thread_id, settled."wireName"
      from ${settled} settled join messages m on m.id = settled.message_id
      where settled."wireName" is not null on conflict do nothing
    )`;
}
