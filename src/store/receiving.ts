import { getTableColumns, type SQL, sql } from "drizzle-orm";
import type { ThreadState } from "../domain/conversation.ts";
import { arrayOf, type Db, query } from "./db.ts";
import type { LockedInbox } from "./inboxes.ts";
import type { AttachmentRow } from "./messages.ts";
import type { NewOutboxItem } from "./outbox.ts";
import { insertion, recordSet, recordsOf, recordsWith } from "./rows.ts";
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
          cross join lateral (${copyOf(row, asked.notBefore)}) copy
          union all
          select 'parent', row."inboxId", row."messageIdHash", null, parent.thread_id
          from ${recordSet(messages, asked.ancestors, ["inboxId", "messageIdHash"])}
          cross join lateral (select thread_id from messages
            where inbox_id = row."inboxId" and message_id_hash = row."messageIdHash" limit 1) parent
          union all
          select 'awaiting', row."inboxId", row."messageIdHash", null, reply.thread_id
          from ${recordSet(messages, asked.copies, ["inboxId", "messageIdHash"])}
          cross join lateral (${replyTo(row)}) reply
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

const webhookOfInbox =
  "exists (select from webhooks where webhooks.account_id = i.account_id and url is not null and disabled_at is null)";
const webhookAsAsked = sql.raw(` and ${webhookOfInbox} = asked."hasWebhook"`);
const nothing = sql``;
const row = sql.raw("row");

/** A message that is the same mail as this row. */
function copyOf(mail: SQL, since: Date): SQL {
  return sql`select from messages where inbox_id = ${mail}."inboxId" and message_id_hash = ${mail}."messageIdHash"
    and content_hash = ${mail}."contentHash" and created_at > ${since} limit 1`;
}

/** The thread of a reply to the mail of this row that came before it. */
function replyTo(mail: SQL): SQL {
  return sql`select thread_id from awaited_parents
    where inbox_id = ${mail}."inboxId" and message_id_hash = ${mail}."messageIdHash" limit 1`;
}

const inboxColumns = sql.raw(
  `i.version, i.account_id as "accountId", i.username, i.message_count as "inboxMessageCount", i.inbound_count as "inboundCount",
   i.thread_count as "threadCount", i.unread_count as "unreadCount", i.last_message_at as "inboxLastMessageAt",
   i.last_message_id as "inboxLastMessageId", i.sent_on::text as "sentOn", i.sent_count as "sentCount",
   i.id is not null and ${webhookOfInbox} as "hasWebhook"`,
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

/** What tells one received message and its event from others; their other columns are the same for all. */
export interface InboundMessage {
  id: string;
  eventId: string;
  accountId: string;
  inboxId: string;
  threadId: string;
  seq: number;
  directionSeq: number;
  createdAt: Date;
  rfcMessageId: string;
  messageIdHash: string;
  contentHash: string;
  fromAddr: string;
  fromName: string | undefined;
  toAddr: string;
  cc: readonly string[];
  replyTo: string | undefined;
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  attachmentCount: number;
  sourceId: string;
  sizeBytes: number;
  inReplyTo: string | undefined;
}

/** The rows that a batch of mails comes to. */
export interface FiledMails {
  threads: readonly ThreadState[];
  messages: readonly InboundMessage[];
  attachments: readonly AttachmentRow[];
  sources: readonly Source[];
  /** Who wrote: mail to them is not cold any more. */
  correspondents: readonly { inboxId: string; address: string }[];
  awaitedParents: readonly (NamedMessage & { threadId: string })[];
  outboxItems: readonly NewOutboxItem[];
  inboxes: readonly ReadInbox[];
}

/**
 * Writes what was decided, in one statement, because ten cost more than all their rows, and since one needs no transaction around
 * it. All or nothing: answers the version that the inboxes have now, or nothing, and nothing is written, where one of them is
 * not as it was when it was read, or somebody has it locked. Where nothing was asked about the mails before, nor is anything
 * written if one is known since `unlessKnownSince` or awaited, or if the account of an inbox has got a webhook or lost it.
 */
export async function insertMails(db: Db, mails: FiledMails, unlessKnownSince?: Date): Promise<string | undefined> {
  const anew = sql`${ifUnchanged} on conflict do nothing`;
  const parts = [
    sql`thread as (${insertion(threads, mails.threads, threadChanged)})`,
    sql`message as (${messageOfMail}${ifUnchanged})`,
    sql`event as (${eventOfMail}${ifUnchanged})`,
  ];
  if (mails.sources.length > 0) parts.push(sql`source as (${sourcesInserted(mails.sources, ifUnchanged)})`);
  if (mails.attachments.length > 0)
    parts.push(sql`attachment as (${insertion(attachments, mails.attachments, ifUnchanged)})`);
  if (mails.correspondents.length > 0)
    parts.push(sql`correspondent as (${insertion(correspondents, mails.correspondents, anew)})`);
  if (mails.awaitedParents.length > 0)
    parts.push(sql`awaited as (${insertion(awaitedParents, mails.awaitedParents, anew)})`);
  if (mails.outboxItems.length > 0) parts.push(sql`promised as (${insertion(outbox, mails.outboxItems, ifUnchanged)})`);
  const [written] = await query<{ version: string }>(
    db,
    sql`with asked as materialized (
          select * from json_to_recordset(${JSON.stringify(mails.inboxes)}::json) as row (${inboxTotals})
        ),
        locked as materialized (select i.id from inboxes i join asked on i.id = asked.id
          where i.xmin::text = asked.version and i.deleted_at is null${unlessKnownSince ? webhookAsAsked : nothing} for update of i skip locked),
        mail as materialized (select * from ${recordsOf(inboundMessages, mails.messages)}),
        unchanged as materialized (select (select count(*) from locked) = (select count(*) from asked)
          ${unlessKnownSince ? noneKnown(unlessKnownSince) : nothing} as are_all),
        ${sql.join(parts, sql`, `)}
        update inboxes set message_count = row."messageCount", inbound_count = row."inboundCount",
          thread_count = row."threadCount", unread_count = row."unreadCount", last_message_at = row."lastMessageAt",
          last_message_id = row."lastMessageId"
        from asked row where inboxes.id = row.id and (select are_all from unchanged) returning inboxes.xmin::text as version`,
  );
  return written?.version;
}

const { direction, status, referenceIds, providerMessageId, failure, ...ofInbound } = getTableColumns(messages);
const inboundMessages = recordsWith({ ...ofInbound, eventId: events.id, accountId: events.accountId });

const messageOfMail = sql.raw(
  `insert into messages (id, inbox_id, thread_id, seq, direction_seq, created_at, rfc_message_id, message_id_hash,
      content_hash, from_addr, from_name, to_addr, cc, reply_to, subject, body_text, body_html, attachment_count, source_id,
      size_bytes, in_reply_to, direction, status)
    select id, "inboxId", "threadId", seq, "directionSeq", "createdAt", "rfcMessageId", "messageIdHash", "contentHash",
      "fromAddr", "fromName", "toAddr", cc, "replyTo", subject, "bodyText", "bodyHtml", "attachmentCount", "sourceId",
      "sizeBytes", "inReplyTo", 'inbound', 'received' from mail`,
);

const eventOfMail = sql.raw(
  `insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
   select "eventId", "accountId", "inboxId", "threadId", id, 'message.received', "createdAt" from mail`,
);

function noneKnown(since: Date): SQL {
  return sql`and not exists (select from mail cross join lateral (${copyOf(sql.raw("mail"), since)}) copy)
    and not exists (select from mail cross join lateral (${replyTo(sql.raw("mail"))}) reply)`;
}

const ifUnchanged = sql` where (select are_all from unchanged)`;

/** A thread that is there already is met by its key: an update that joins may be planned to read the table whole. */
const threadChanged = sql`${ifUnchanged} on conflict (id) do update set is_read = excluded.is_read,
  message_count = excluded.message_count, last_message_at = excluded.last_message_at,
  last_message_id = excluded.last_message_id, last_seq = excluded.last_seq, last_inbound_seq = excluded.last_inbound_seq,
  participants = excluded.participants, preview = excluded.preview, has_attachments = excluded.has_attachments`;

const inboxTotals = sql.raw(
  `id text collate "C", version text, "messageCount" int, "inboundCount" int, "threadCount" int, "unreadCount" int,
   "lastMessageAt" timestamptz, "lastMessageId" text collate "C", "hasWebhook" boolean`,
);
