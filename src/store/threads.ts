import { eq, sql } from "drizzle-orm";
import type { ThreadState } from "../domain/conversation.ts";
import { type Db, query } from "./db.ts";
import { insertRows, recordSet } from "./rows.ts";
import { awaitedParents, messages, threads } from "./schema.ts";

export function insertThreads(tx: Db, rows: readonly ThreadState[]): Promise<void> {
  return insertRows(tx, threads, rows);
}

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

const stateFields = sql.raw(
  `t.id, t.inbox_id as "inboxId", t.subject, t.is_read as "isRead", t.message_count as "messageCount",
   t.created_at as "createdAt", t.last_message_at as "lastMessageAt", t.last_message_id as "lastMessageId",
   t.last_seq as "lastSeq", t.last_inbound_seq as "lastInboundSeq", t.participants, t.preview,
   t.has_attachments as "hasAttachments"`,
);

/** A Message-ID, by its hash, in one inbox. */
export interface NamedMessage {
  inboxId: string;
  messageIdHash: string;
}

const namedFields = ["inboxId", "messageIdHash"];

/**
 * The threads of the messages that these ids name. One row for each id: anyone can send a thousand mails under one
 * Message-ID, and any of them is as good a parent.
 */
export async function listThreadsOfMessages(
  tx: Db,
  named: readonly NamedMessage[],
): Promise<(ThreadState & NamedMessage)[]> {
  if (named.length === 0) return [];
  return query<ThreadState & NamedMessage & Record<string, unknown>>(
    tx,
    sql`select row."messageIdHash", ${stateFields} from ${recordSet(messages, named, namedFields)}
        cross join lateral (select thread_id from messages
          where inbox_id = row."inboxId" and message_id_hash = row."messageIdHash" limit 1) parent
        join threads t on t.id = parent.thread_id`,
  );
}

/** The threads whose first message was a reply to one of these, before it came. */
export async function listThreadsAwaiting(
  tx: Db,
  named: readonly NamedMessage[],
): Promise<(ThreadState & NamedMessage)[]> {
  if (named.length === 0) return [];
  return query<ThreadState & NamedMessage & Record<string, unknown>>(
    tx,
    sql`select row."messageIdHash", ${stateFields} from ${recordSet(messages, named, namedFields)}
        join awaited_parents a on a.inbox_id = row."inboxId" and a.message_id_hash = row."messageIdHash"
        join threads t on t.id = a.thread_id`,
  );
}

export function insertAwaitedParents(tx: Db, rows: readonly (NamedMessage & { threadId: string })[]): Promise<void> {
  return insertRows(tx, awaitedParents, rows, sql` on conflict do nothing`);
}

export async function findThreadState(tx: Db, inboxId: string, id: string): Promise<ThreadState | undefined> {
  const [thread] = await tx.select().from(threads).where(eq(threads.id, id));
  return thread?.inboxId === inboxId ? thread : undefined;
}
