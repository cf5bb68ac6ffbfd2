import { sql } from "drizzle-orm";
import type { ThreadState } from "../domain/conversation.ts";
import { type Db, query } from "./db.ts";
import type { LockedInbox } from "./inboxes.ts";
import type { AttachmentRow, MessageRow } from "./messages.ts";
import type { EventRow, NewOutboxItem } from "./outbox.ts";
import { insertion, recordSet } from "./rows.ts";
import { attachments, awaitedParents, correspondents, events, inboxes, messages, outbox, threads } from "./schema.ts";
import { type Source, sourcesInserted } from "./sources.ts";
import { threadFields } from "./threads.ts";

/** A Message-ID, by its hash, in one inbox. */
export interface NamedMessage {
  inboxId: string;
  messageIdHash: string;
}

export interface Copy extends NamedMessage {
  contentHash: string;
}

/** What is known of mails before they are filed. */
export interface KnownOfMails {
  /** Which of them their inbox already has, by Message-ID and content. */
  copies: readonly Copy[];
  /** Threads of the messages that they name. */
  parents: readonly (ThreadState & NamedMessage)[];
  /** Threads that began with a reply to one of them. */
  awaiting: readonly (ThreadState & NamedMessage)[];
}

export interface AskedOfMails {
  copies: readonly Copy[];
  ancestors: readonly NamedMessage[];
  /** What is older than this is no copy any more. */
  notBefore: Date;
}

type Known = { kind: "copy" | "parent" | "awaiting" } & Copy & ThreadState;

/**
 * All that is to be known in one question. One thread for each id that is named: anyone can send a thousand mails
 * under one Message-ID, and any of them is as good a parent. Each look-up is lateral and has a limit, because the planner
 * would otherwise join, and a plan made while a table is empty reads the whole of it for every batch later on.
 */
export async function findKnownOfMails(tx: Db, asked: AskedOfMails): Promise<KnownOfMails> {
  const rows = await query<Known & Record<string, unknown>>(
    tx,
    sql`select known.kind, known."messageIdHash", known."contentHash", ${threadFields}, known."inboxId" from (
          select 'copy' as kind, row."inboxId", row."messageIdHash", row."contentHash", null as thread_id
          from ${recordSet(messages, asked.copies, ["inboxId", "messageIdHash", "contentHash"])}
          cross join lateral (select from messages where inbox_id = row."inboxId" and message_id_hash = row."messageIdHash"
            and content_hash = row."contentHash" and created_at > ${asked.notBefore} limit 1) known_copy
          union all
          select 'parent', row."inboxId", row."messageIdHash", null, parent.thread_id
          from ${recordSet(messages, asked.ancestors, ["inboxId", "messageIdHash"])}
          cross join lateral (select thread_id from messages
            where inbox_id = row."inboxId" and message_id_hash = row."messageIdHash" limit 1) parent
          union all
          select 'awaiting', row."inboxId", row."messageIdHash", null, reply.thread_id
          from ${recordSet(messages, asked.copies, ["inboxId", "messageIdHash"])}
          cross join lateral (select thread_id from awaited_parents
            where inbox_id = row."inboxId" and message_id_hash = row."messageIdHash" limit 1) reply
        ) known left join lateral (select * from threads where id = known.thread_id limit 1) t on true`,
  );
  const of = (wanted: Known["kind"]) => rows.filter(({ kind }) => kind === wanted);
  return { copies: of("copy"), parents: of("parent"), awaiting: of("awaiting") };
}

/** The rows that a batch of mails comes to. */
export interface FiledMails {
  threads: readonly ThreadState[];
  messages: readonly MessageRow[];
  attachments: readonly AttachmentRow[];
  sources: readonly Source[];
  /** Who wrote: mail to them is not cold any more. */
  correspondents: readonly { inboxId: string; address: string }[];
  awaitedParents: readonly (NamedMessage & { threadId: string })[];
  events: readonly EventRow[];
  outboxItems: readonly NewOutboxItem[];
  inboxes: readonly LockedInbox[];
}

/** Writes what was decided under the lock on the inboxes. One statement, because ten cost more than all their rows. */
export async function insertMails(tx: Db, mails: FiledMails): Promise<void> {
  const parts = [
    sql`thread as (${insertion(threads, mails.threads, threadChanged)})`,
    sql`message as (${insertion(messages, mails.messages)})`,
    sql`event as (${insertion(events, mails.events)})`,
  ];
  const ifAny = sql` on conflict do nothing`;
  if (mails.sources.length > 0) parts.push(sql`source as (${sourcesInserted(mails.sources)})`);
  if (mails.attachments.length > 0) parts.push(sql`attachment as (${insertion(attachments, mails.attachments)})`);
  if (mails.correspondents.length > 0)
    parts.push(sql`correspondent as (${insertion(correspondents, mails.correspondents, ifAny)})`);
  if (mails.awaitedParents.length > 0)
    parts.push(sql`awaited as (${insertion(awaitedParents, mails.awaitedParents, ifAny)})`);
  if (mails.outboxItems.length > 0) parts.push(sql`promised as (${insertion(outbox, mails.outboxItems)})`);
  await query(
    tx,
    sql`with ${sql.join(parts, sql`, `)}
        update inboxes set message_count = row."messageCount", inbound_count = row."inboundCount",
          thread_count = row."threadCount", unread_count = row."unreadCount", last_message_at = row."lastMessageAt",
          last_message_id = row."lastMessageId"
        from ${recordSet(inboxes, mails.inboxes, totals)} where inboxes.id = row.id`,
  );
}

/** A thread that is there already is met by its key: an update that joins may be planned to read the table whole. */
const threadChanged = sql` on conflict (id) do update set is_read = excluded.is_read, message_count = excluded.message_count,
  last_message_at = excluded.last_message_at, last_message_id = excluded.last_message_id, last_seq = excluded.last_seq,
  last_inbound_seq = excluded.last_inbound_seq, participants = excluded.participants, preview = excluded.preview,
  has_attachments = excluded.has_attachments`;

const totals = ["id", "messageCount", "inboundCount", "threadCount", "unreadCount", "lastMessageAt", "lastMessageId"];
