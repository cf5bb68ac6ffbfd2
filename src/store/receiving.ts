import { sql } from "drizzle-orm";
import type { ThreadState } from "../domain/conversation.ts";
import { arrayOf, type Db, query } from "./db.ts";
import type { LockedInbox } from "./inboxes.ts";
import type { AttachmentRow, MessageRow } from "./messages.ts";
import type { EventRow, NewOutboxItem } from "./outbox.ts";
import { insertion, recordSet } from "./rows.ts";
import { attachments, awaitedParents, correspondents, events, messages, outbox, threads } from "./schema.ts";
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

/** An inbox as it was when it was read. */
export interface ReadInbox extends LockedInbox {
  /** Another one when anything about the inbox, its threads or its messages has changed. */
  version: string;
}

/** What is known of mails before they are filed. */
export interface KnownOfMails {
  /** Those that live. */
  inboxes: readonly ReadInbox[];
  /** Which of them their inbox already has, by Message-ID and content. */
  copies: readonly Copy[];
  /** Threads of the messages that they name. */
  parents: readonly (ThreadState & NamedMessage)[];
  /** Threads that began with a reply to one of them. */
  awaiting: readonly (ThreadState & NamedMessage)[];
}

export interface AskedOfMails {
  inboxIds: readonly string[];
  copies: readonly Copy[];
  ancestors: readonly NamedMessage[];
  /** What is older than this is no copy any more. */
  notBefore: Date;
}

type Known = { kind: "inbox" | "copy" | "parent" | "awaiting" } & Copy & ThreadState & InboxColumns;

/** Of a row of another kind they are null. */
type InboxColumns = Omit<ReadInbox, "id" | keyof ThreadState> & {
  inboxMessageCount: number;
  inboxLastMessageAt: Date | null;
  inboxLastMessageId: string | null;
};

/**
 * All that is to be known in one question, and so of one instant: the version of an inbox vouches for what else was found of it.
 * One thread for each id that is named: anyone can send a thousand mails under one Message-ID, and any of them is as good a
 * parent. Each look-up is lateral and has a limit, because the planner would otherwise join, and a plan made while a table is
 * empty reads the whole of it for every batch later on.
 */
export async function findKnownOfMails(db: Db, asked: AskedOfMails): Promise<KnownOfMails> {
  const rows = await query<Known & Record<string, unknown>>(
    db,
    sql`select known.kind, known."messageIdHash", known."contentHash", ${threadFields}, ${inboxColumns}, known."inboxId" from (
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
          union all
          select 'inbox', id, null, null, null from unnest(${arrayOf("text", asked.inboxIds)}) as inbox (id)
        ) known
        left join lateral (select * from threads where id = known.thread_id limit 1) t on true
        left join lateral (select *, xmin::text as version from inboxes
          where id = known."inboxId" and known.kind = 'inbox' and deleted_at is null limit 1) i on true`,
  );
  const of = (wanted: Known["kind"]) => rows.filter(({ kind }) => kind === wanted);
  const living = of("inbox").filter(({ version }) => version !== null);
  return { inboxes: living.map(inboxOf), copies: of("copy"), parents: of("parent"), awaiting: of("awaiting") };
}

const inboxColumns = sql.raw(
  `i.version, i.account_id as "accountId", i.username, i.message_count as "inboxMessageCount", i.inbound_count as "inboundCount",
   i.thread_count as "threadCount", i.unread_count as "unreadCount", i.last_message_at as "inboxLastMessageAt",
   i.last_message_id as "inboxLastMessageId", i.sent_on::text as "sentOn", i.sent_count as "sentCount",
   i.id is not null and exists (select from webhooks where webhooks.account_id = i.account_id and url is not null
     and disabled_at is null) as "hasWebhook"`,
);

function inboxOf(row: Known): ReadInbox {
  const { version, accountId, username, inboundCount, threadCount, unreadCount, sentOn, sentCount, hasWebhook } = row;
  return {
    ...{
      id: row.inboxId,
      version,
      accountId,
      username,
      inboundCount,
      threadCount,
      unreadCount,
      sentOn,
      sentCount,
      hasWebhook,
    },
    messageCount: row.inboxMessageCount,
    lastMessageAt: row.inboxLastMessageAt,
    lastMessageId: row.inboxLastMessageId,
  };
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
  inboxes: readonly ReadInbox[];
}

/**
 * Writes what was decided, in one statement, because ten cost more than all their rows, and since one needs no transaction around
 * it. All or nothing: false, and nothing is written, where one of the inboxes is not as it was when it was read, or
 * somebody has it locked.
 */
export async function insertMails(db: Db, mails: FiledMails): Promise<boolean> {
  const anew = sql`${ifUnchanged} on conflict do nothing`;
  const parts = [
    sql`thread as (${insertion(threads, mails.threads, threadChanged)})`,
    sql`message as (${insertion(messages, mails.messages, ifUnchanged)})`,
    sql`event as (${insertion(events, mails.events, ifUnchanged)})`,
  ];
  if (mails.sources.length > 0) parts.push(sql`source as (${sourcesInserted(mails.sources, ifUnchanged)})`);
  if (mails.attachments.length > 0)
    parts.push(sql`attachment as (${insertion(attachments, mails.attachments, ifUnchanged)})`);
  if (mails.correspondents.length > 0)
    parts.push(sql`correspondent as (${insertion(correspondents, mails.correspondents, anew)})`);
  if (mails.awaitedParents.length > 0)
    parts.push(sql`awaited as (${insertion(awaitedParents, mails.awaitedParents, anew)})`);
  if (mails.outboxItems.length > 0) parts.push(sql`promised as (${insertion(outbox, mails.outboxItems, ifUnchanged)})`);
  const written = await query<{ id: string }>(
    db,
    sql`with asked as materialized (
          select * from json_to_recordset(${JSON.stringify(mails.inboxes)}::json) as row (${inboxTotals})
        ),
        locked as materialized (select i.id from inboxes i join asked on i.id = asked.id
          where i.xmin::text = asked.version and i.deleted_at is null for update of i skip locked),
        unchanged as materialized (select (select count(*) from locked) = (select count(*) from asked) as are_all),
        ${sql.join(parts, sql`, `)}
        update inboxes set message_count = row."messageCount", inbound_count = row."inboundCount",
          thread_count = row."threadCount", unread_count = row."unreadCount", last_message_at = row."lastMessageAt",
          last_message_id = row."lastMessageId"
        from asked row where inboxes.id = row.id and (select are_all from unchanged) returning inboxes.id`,
  );
  return written.length > 0;
}

const ifUnchanged = sql` where (select are_all from unchanged)`;

/** A thread that is there already is met by its key: an update that joins may be planned to read the table whole. */
const threadChanged = sql`${ifUnchanged} on conflict (id) do update set is_read = excluded.is_read,
  message_count = excluded.message_count, last_message_at = excluded.last_message_at,
  last_message_id = excluded.last_message_id, last_seq = excluded.last_seq, last_inbound_seq = excluded.last_inbound_seq,
  participants = excluded.participants, preview = excluded.preview, has_attachments = excluded.has_attachments`;

const inboxTotals = sql.raw(
  `id text collate "C", version text, "messageCount" int, "inboundCount" int, "threadCount" int, "unreadCount" int,
   "lastMessageAt" timestamptz, "lastMessageId" text collate "C"`,
);
