import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { KeptReport } from "../../domain/reports/reported-message.ts";
import { selected } from "../columns.ts";
import { chunkBytes, findChunk } from "../mail/sources.ts";
import { reports } from "../schema.ts";

const reportFields = selected(reports, "r");

/** What came back about a message, the oldest first. */
export function listReports(db: Db, messageId: string): Promise<KeptReport[]> {
  return query(
    db,
    sql`select ${reportFields} from reports r where r.message_id = ${messageId} order by r.received_at, r.id`,
  );
}

/** A report of a message. */
export async function findReport(db: Db, messageId: string, id: string): Promise<KeptReport | undefined> {
  const [report] = await query<KeptReport>(
    db,
    sql`select ${reportFields} from reports r where r.id = ${id} and r.message_id = ${messageId}`,
  );
  return report;
}

/** How large the raw bytes of a source are; undefined where there is none. */
export async function findSourceSize(db: Db, sourceId: string): Promise<number | undefined> {
  const [last] = await query<{ seq: number }>(
    db,
    sql`select seq from source_chunks where source_id = ${sourceId} and part = 0 order by seq desc limit 1`,
  );
  const piece = last && (await findChunk(db, sourceId, 0, last.seq));
  return last && piece && last.seq * chunkBytes + piece.length;
}
