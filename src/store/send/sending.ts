import { sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { AcceptedSends } from "../../domain/send/accepted-sends.ts";
import { insertion, recordSet } from "../rows.ts";
import { coldSends, messages, outbox, threads } from "../schema.ts";

/**
 * Writes what was decided, in one statement that needs no transaction around it: for each inbox all or nothing, and nothing
 * where the inbox is not as it was when the facts were read, or somebody has it locked. Answers whose sends are written. A key
 * that is in use after all fails the statement (`meetsUsedKey`).
 *
 * A thread that is there already is met by its key, since an update that joins may be planned, while the tables are still
 * small, to read them whole.
 */
export async function insertSends(db: Db, sends: AcceptedSends): Promise<Set<string>> {
  const cold =
    sends.coldSends.length === 0
      ? sql``
      : sql`cold as (insert into cold_sends (inbox_id, recipient, sent_on, count)
          select row."inboxId", row.recipient, row."sentOn", row.count
          from ${recordSet(coldSends, sends.coldSends, ["inboxId", "recipient", "sentOn", "count"])} ${whereWritten}
          on conflict (inbox_id, recipient, sent_on) do update set count = cold_sends.count + excluded.count),`;
  const rows = await query<{ id: string }>(
    db,
    sql`with asked as materialized (select * from json_to_recordset(${JSON.stringify(sends.senders)}::json) as row (${senderColumns})),
        unchanged as materialized (select i.id from inboxes i join asked on i.id = asked.id
          where i.revision = asked.revision and i.deleted_at is null for update of i skip locked),
        sender as (update inboxes set message_count = row."messageCount", thread_count = row."threadCount",
          unread_count = row."unreadCount", last_message_at = row."lastMessageAt", last_message_id = row."lastMessageId",
          sent_on = row."sentOn", sent_count = row."sentCount", revision = row.revision + 1
          from asked row where inboxes.id = row.id and row.id in (select id from unchanged) returning inboxes.id),
        used as (insert into idempotency_keys (account_id, operation, key, fingerprint, subject_id, created_at)
          select row."accountId", 'send', row.key, row.fingerprint, row."subjectId", row."createdAt"
          from json_to_recordset(${JSON.stringify(sends.keyUses)}::json) as row (${keyColumns}) ${whereWritten}),
        thread as (${insertion(threads, sends.threads, threadChanged)}),
        message as (insert into messages (id, inbox_id, thread_id, seq, direction_seq, created_at, rfc_message_id,
            message_id_hash, from_addr, to_addr, reply_to, subject, body_text, body_html, in_reply_to, reference_ids,
            direction, status, cc, attachment_count)
          select row.id, row."inboxId", row."threadId", row.seq, row."directionSeq", row."createdAt", row."rfcMessageId",
            row."messageIdHash", row."fromAddr", row."toAddr", row."replyTo", row.subject, row."bodyText", row."bodyHtml",
            row."inReplyTo", row."referenceIds", 'outbound', 'pending', '{}', 0
          from ${recordSet(messages, sends.messages, messageFields)} ${whereWritten}),
        ${cold}
        outboxed as (insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, created_at)
          select row."subjectId", 'relay', row."accountId", row."inboxId", row.lane, row."dueAt", row."createdAt"
          from ${recordSet(outbox, sends.outboxItems, outboxFields)} ${whereWritten})
        select id from sender`,
  );
  return new Set(rows.map(({ id }) => id));
}

/** Waits for the inboxes, at most so long, and holds them to the end of the transaction. */
export async function lockSenders(tx: Db, ids: readonly string[], timeoutMs: number): Promise<void> {
  await query(tx, sql`select set_config('lock_timeout', ${String(timeoutMs)}, true)`);
  await query(tx, sql`select from inboxes where id = any(${arrayOf("text", ids)}) order by id for update`);
}

const senderColumns = sql.raw(
  `id text collate "C", revision bigint, "messageCount" int, "threadCount" int, "unreadCount" int, "lastMessageAt" timestamptz,
   "lastMessageId" text collate "C", "sentOn" date, "sentCount" int`,
);

const keyColumns = sql.raw(
  '"accountId" text, key text, fingerprint text, "subjectId" text, "createdAt" timestamptz, "inboxId" text',
);
const outboxFields = ["subjectId", "accountId", "inboxId", "lane", "dueAt", "createdAt"];
const messageFields = [
  ...["id", "inboxId", "threadId", "seq", "directionSeq", "createdAt", "rfcMessageId", "messageIdHash", "fromAddr"],
  ...["toAddr", "replyTo", "subject", "bodyText", "bodyHtml", "inReplyTo", "referenceIds"],
];

const whereWritten = sql` where row."inboxId" in (select id from sender)`;

const threadChanged = sql`${whereWritten} on conflict (id) do update set is_read = excluded.is_read,
  message_count = excluded.message_count, last_message_at = excluded.last_message_at,
  last_message_id = excluded.last_message_id, last_seq = excluded.last_seq, participants = excluded.participants,
  preview = excluded.preview, has_attachments = excluded.has_attachments`;
