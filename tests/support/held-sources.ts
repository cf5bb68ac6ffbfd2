import { sql } from "drizzle-orm";
import { type Db, query } from "../../src/database/db.ts";

/**
 * Sources whose first piece has a wrong count of holders: messages, messages and drafts of their attachments, uploads, unparsed mail,
 * quarantined mail and reports.
 */
export const miscountedSources = `select c.source_id, c.shares, holder.count from source_chunks c cross join lateral (
   select (select count(*) from messages m where m.source_id = c.source_id)
     + (select count(distinct a.message_id) from attachments a left join messages m on m.id = a.message_id
        where a.source_id = c.source_id and m.source_id is distinct from a.source_id)
     + (select count(*) from uploads u where u.source_id = c.source_id)
     + (select count(*) from unparsed_mails u where u.source_id = c.source_id)
     + (select count(*) from quarantine q where q.source_id = c.source_id)
     + (select count(*) from (select from reports r where r.source_id = c.source_id limit 1) told) as count) holder
 where c.part = 0 and c.seq = 0 and c.shares <> holder.count`;

/** Pieces of a source without its first piece, which has the count. */
export const uncountedPieces = `select c.source_id, c.part, c.seq from source_chunks c
 where not exists (select from source_chunks first where first.source_id = c.source_id and first.part = 0 and first.seq = 0)`;

/** Attachments whose bytes are missing. */
export const lostFiles = `select a.message_id, a.filename from attachments a
 where not exists (select from source_chunks c where c.source_id = a.source_id and c.part = a.part and c.seq = 0)`;

/** Mismatches between stored bytes and their holders; there must never be one. */
export async function faultsOfSources(db: Db): Promise<Record<string, unknown>[]> {
  const statements = [miscountedSources, uncountedPieces, lostFiles];
  return (await Promise.all(statements.map((each) => query(db, sql.raw(each))))).flat();
}
