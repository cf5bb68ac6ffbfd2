import { sql } from "drizzle-orm";
import { type Db, query } from "../../src/database/db.ts";

/**
 * Sources whose first piece has a wrong count of holders: messages, messages and drafts of their attachments, uploads, unparsed mail,
 * quarantined mail and reports.
 */
export const miscountedSources = `select c.source_id, c.shares, coalesce(holder.count, 0) as count
 from source_chunks c left join (
   select source_id, count(*)::int from (
     select source_id, id from messages
     union select source_id, message_id from attachments
     union select source_id, id from uploads
     union select source_id, 'unparsed' from unparsed_mails
     union select source_id, id from quarantine
     union select source_id, 'reports' from reports) held
   group by source_id) holder using (source_id)
 where c.part = 0 and c.seq = 0 and c.shares <> coalesce(holder.count, 0)`;

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
