import { sql } from "drizzle-orm";
import { type Db, query } from "../../src/database/db.ts";
import { chunksOf, insertSources } from "../../src/store/mail/sources.ts";

export interface AttachedFile {
  filename: string;
  bytes: Uint8Array;
  contentType?: string;
  contentId?: string;
  inline?: boolean;
}

/** Adds files to a waiting message, as a send with attachments does. */
export async function attachFiles(db: Db, messageId: string, files: readonly AttachedFile[]): Promise<void> {
  for (const [position, file] of files.entries()) {
    const sourceId = `src_${messageId.slice(4)}${position}`;
    await insertSources(db, [{ id: sourceId, shares: 1, chunks: await chunksOf(0, file.bytes) }]);
    const digest = new Bun.CryptoHasher("sha256").update(file.bytes).digest("hex");
    await query(
      db,
      sql`insert into attachments (message_id, filename, id, position, content_type, size_bytes, content_id, inline, source_id, part, digest)
          values (${messageId}, ${file.filename}, ${`att_${messageId.slice(4)}${position}`}, ${position},
            ${file.contentType ?? "application/octet-stream"}, ${file.bytes.length}, ${file.contentId ?? null},
            ${file.inline ?? false}, ${sourceId}, 0, ${digest})`,
    );
  }
  await query(db, sql`update messages set attachment_count = ${files.length} where id = ${messageId}`);
}
