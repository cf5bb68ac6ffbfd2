import { eq, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import { recordSet } from "../rows.ts";
import { threads } from "../schema.ts";

const changing = [
  "id",
  "isRead",
  "messageCount",
  "lastMessageAt",
  "lastMessageId",
  "lastSeq",
  "lastInboundSeq",
  "participants",
  "preview",
  "hasAttachments",
];

/** Writes what was decided under the lock on the threads' inboxes. */
export async function markThreads(tx: Db, states: readonly ThreadState[]): Promise<void> {
  if (states.length === 0) return;
  await query(
    tx,
    sql`update threads set is_read = row."isRead", message_count = row."messageCount", last_message_at = row."lastMessageAt",
          last_message_id = row."lastMessageId", last_seq = row."lastSeq", last_inbound_seq = row."lastInboundSeq",
          participants = row.participants, preview = row.preview, has_attachments = row."hasAttachments"
        from ${recordSet(threads, states, changing)} where threads.id = row.id`,
  );
}

/** A thread `t` as the rules of a conversation see it. */
export const threadFields = sql.raw(
  `t.id, t.inbox_id as "inboxId", t.subject, t.is_read as "isRead", t.message_count as "messageCount",
   t.created_at as "createdAt", t.last_message_at as "lastMessageAt", t.last_message_id as "lastMessageId",
   t.last_seq as "lastSeq", t.last_inbound_seq as "lastInboundSeq", t.participants, t.preview,
   t.has_attachments as "hasAttachments"`,
);

export async function findThreadState(tx: Db, inboxId: string, id: string): Promise<ThreadState | undefined> {
  const [thread] = await tx.select().from(threads).where(eq(threads.id, id));
  return thread?.inboxId === inboxId ? thread : undefined;
}
