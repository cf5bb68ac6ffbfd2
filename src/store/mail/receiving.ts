import { getTableColumns, type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { ThreadState } from "../../domain/conversation.ts";
import type { Body, FiledMails } from "../../domain/receive/filed-mails.ts";
import type { Copy, KnownOfMails, NamedMessage, Parent, ReadInbox } from "../../domain/receive/known-of-mails.ts";
import { mailTotals } from "../account/inbox-totals.ts";
import { assigned, columnNames, columnsOf, fieldsOf, selected } from "../columns.ts";
import { eventsAndDeliveries, hasDeliveries } from "../events/fan-out.ts";
import { insertion, recordSet, recordsOf, recordsWith } from "../rows.ts";
import {
  attachments,
  awaitedParents,
  correspondents,
  events,
  inboxes,
  messageKey,
  messages,
  quarantine,
} from "../schema.ts";
import { addressesOf } from "../send/recipients.ts";
import { labelsWritten } from "./labels.ts";
import { sourcesInserted } from "./sources.ts";
import { blocksWritten } from "./thread-blocks.ts";
import { threadFields, threadsWriting } from "./threads.ts";

export interface AskedOfMails {
  inboxIds: readonly string[];
  copies: readonly Copy[];
  /** The Message-IDs of the mails, and those to which the mails refer. */
  named: readonly NamedMessage[];
  /** Mails before this instant do not count as copies. */
  notBefore: Date;
}

type Known = { kind: "inbox" | "copy" | "parent" | "other_name" | "awaiting" | "removed" } & Copy &
  Parent &
  InboxColumns;

/** The columns of an inbox, which are null in rows that are not of the kind `inbox`. */
type InboxColumns = Omit<ReadInbox, "id" | keyof ThreadState> & {
  inboxMessageCount: number;
  inboxLastMessageAt: Date | null;
  inboxLastMessageId: string | null;
};

/**
 * Reads all facts in one statement, and so at one instant: as long as the revision of an inbox is unchanged, so are the other facts about
 * it. For each Message-ID it finds only one thread: anyone can send a thousand mails with one Message-ID, and each of them is an equally
 * good parent. Our own message is found by its missing content hash among others with the same id.
 *
 * Each look-up is lateral and has a limit, because the planner would otherwise join, and a plan that was made while a table was small would
 * scan it for every later batch. While a table is small, an index whose condition (`deleted_at is null`) holds also seems as good as the
 * key, so look-ups of inboxes have no condition but the id, and that of our own message none that an index has (`direction <> 'inbound'`).
 */
export async function findKnownOfMails(db: Db, asked: AskedOfMails): Promise<KnownOfMails> {
  const rows = await query<Known>(
    db,
    sql`with named as materialized (select * from ${recordSet(messages, asked.named, ["inboxId", "messageIdHash"])})
        select known.kind, known."messageIdHash", known."contentHash", known.sent_to as "sentTo", ${threadFields}, ${inboxColumns},
          known."inboxId" from (
          select 'copy' as kind, row."inboxId", row."messageIdHash", row."contentHash", null as thread_id, null as sent_to
          from ${recordSet(messages, asked.copies, ["inboxId", "messageIdHash", "contentHash"])}
          cross join lateral (select from messages where ${hasNameOf(sql.raw("row"))}
            and content_hash = row."contentHash" and created_at > ${asked.notBefore} limit 1) copy
          union all
          select 'copy', row."inboxId", row."messageIdHash", row."contentHash", null, null
          from ${recordSet(messages, asked.copies, ["inboxId", "messageIdHash", "contentHash"])}
          cross join lateral (${quarantinedUnder(sql.raw("row"))} and content_hash = row."contentHash"
            and received_at > ${asked.notBefore} limit 1) copy
          union all
          select 'parent', named."inboxId", named."messageIdHash", null, parent.thread_id, ours.sent_to from named
          cross join lateral (${messageUnder(sql.raw("named"))}) parent
          left join lateral (select ${addressesOf("messages.id")} as sent_to from messages where ${hasNameOf(sql.raw("named"))}
            and content_hash is null and direction <> 'inbound' limit 1) ours on true
          union all
          select 'other_name', named."inboxId", named."messageIdHash", null, other.thread_id, ${addressesOf("other.message_id")} from named
          cross join lateral (${messageOtherwiseNamed(sql.raw("named"))}) other
          union all
          select 'awaiting', named."inboxId", named."messageIdHash", null, waiting.thread_id, null from named
          cross join lateral (${threadAwaiting(sql.raw("named"))}) waiting
          union all
          select 'removed', named."inboxId", named."messageIdHash", null, null, null from named
          cross join lateral (${removedUnder(sql.raw("named"))} limit 1) removed
          union all
          select 'copy', row."inboxId", row."messageIdHash", row."contentHash", null, null
          from ${recordSet(messages, asked.copies, ["inboxId", "messageIdHash", "contentHash"])}
          cross join lateral (${removedUnder(sql.raw("row"))} and content_hash = row."contentHash" limit 1) copy
          union all
          select 'inbox', id, null, null, null, null from unnest(${arrayOf("text", asked.inboxIds)}) as inbox (id)
        ) known
        left join lateral (select * from threads where id = known.thread_id limit 1) t on true
        left join lateral (select * from inboxes where id = known."inboxId" and known.kind = 'inbox' limit 1) i on i.deleted_at is null`,
  );
  const of = (wanted: Known["kind"]) => rows.filter(({ kind }) => kind === wanted);
  const living = of("inbox").filter(({ revision }) => revision !== null);
  const found = [...of("other_name"), ...of("parent")];
  return {
    inboxes: living.map(inboxOf),
    copies: of("copy"),
    parents: found.filter(({ id }) => id !== null),
    awaiting: of("awaiting"),
    // The messages of a removed thread, which has no row any more, leave one after the other.
    removed: [...of("removed"), ...found.filter(({ id }) => id === null)],
  };
}

/** Lists those of these threads in which the inbox has written. */
export async function listWrittenThreads(db: Db, threadIds: readonly string[]): Promise<Set<string>> {
  const written = await query<{ id: string }>(
    db,
    sql`select asked.id from unnest(${arrayOf("text", threadIds)}) as asked (id)
        where exists (select from messages where thread_id = asked.id and direction = 'outbound')`,
  );
  return new Set(written.map(({ id }) => id));
}

const nothing = sql``;
const threadsWritten = threadsWriting();

/**
 * Whether a message is in the inbox of the row `named` and has its Message-ID. Two of them may have the same key, so both columns are
 * compared too. No index answers `is not distinct from`: with `=`, a plan that is made while a partition is empty would take another index
 * that begins with the inbox, and read the whole inbox for every later mail.
 */
function hasNameOf(named: SQL): SQL {
  const [inboxId, hash] = [sql`${named}."inboxId"`, sql`${named}."messageIdHash"`];
  return sql`${messageKey(sql`inbox_id`, sql`message_id_hash`)} = ${messageKey(inboxId, hash)}
    and message_id_hash = ${hash} and inbox_id is not distinct from ${inboxId}`;
}

/** Selects the thread of a message that has the Message-ID of the row `named`. */
function messageUnder(named: SQL): SQL {
  return sql`select thread_id from messages where ${hasNameOf(named)} limit 1`;
}

/** Selects a quarantined mail that has the Message-ID of the row `named`. */
function quarantinedUnder(named: SQL): SQL {
  return sql`select from quarantine where inbox_id = ${named}."inboxId" and message_id_hash = ${named}."messageIdHash"`;
}

/** Selects a removed message that had the Message-ID of the row `named`. */
function removedUnder(named: SQL): SQL {
  return sql`select from removed_messages where inbox_id = ${named}."inboxId" and message_id_hash = ${named}."messageIdHash"`;
}

/** Selects one of our messages to which a relay gave the Message-ID of the row `named`. */
function messageOtherwiseNamed(named: SQL): SQL {
  return sql`select thread_id, message_id from message_names
    where name_hash = ${named}."messageIdHash" and inbox_id = ${named}."inboxId" limit 1`;
}

/** Selects a thread that waits for a mail with the Message-ID of the row `named`. */
function threadAwaiting(named: SQL): SQL {
  return sql`select thread_id from awaited_parents
    where inbox_id = ${named}."inboxId" and message_id_hash = ${named}."messageIdHash" limit 1`;
}

/** The select list of an inbox `i`. The columns that a thread also has get other names. */
const inboxColumns = sql`${selected(inboxes, "i", [
  "revision",
  "accountId",
  "username",
  "inboundCount",
  "threadCount",
  "unreadCount",
  "archiveCount",
  "trashCount",
  "storageBytes",
  "sentOn",
  "sentCount",
  "disabled",
])}, i.message_count as "inboxMessageCount", i.last_message_at as "inboxLastMessageAt", i.last_message_id as "inboxLastMessageId"`;

function inboxOf(row: Known): ReadInbox {
  return {
    id: row.inboxId,
    revision: row.revision,
    accountId: row.accountId,
    username: row.username,
    inboundCount: row.inboundCount,
    threadCount: row.threadCount,
    unreadCount: row.unreadCount,
    archiveCount: row.archiveCount,
    trashCount: row.trashCount,
    storageBytes: row.storageBytes,
    disabled: row.disabled,
    sentOn: row.sentOn,
    sentCount: row.sentCount,
    messageCount: row.inboxMessageCount,
    lastMessageAt: row.inboxLastMessageAt,
    lastMessageId: row.inboxLastMessageId,
  };
}

/**
 * Writes filed mails in one statement, because ten statements would cost more than the rows, and because one needs no transaction. It
 * writes all or nothing, and returns the inboxes as they are now. It writes nothing and returns undefined if one of the inboxes has changed
 * since it was read, or is locked by another transaction.
 */
export async function insertMails(
  db: Db,
  mails: FiledMails,
  { isGuess = false, bodiesOf }: MailsWriting = {},
): Promise<WrittenMails | undefined> {
  const parts: SQL[] = [];
  if (mails.quarantined.length > 0)
    parts.push(
      sql`blocked as materialized (select * from ${recordsOf(blockedMails, mails.quarantined)}${ifUnchanged})`,
      sql`quarantined as (${quarantineInto})`,
      sql`new_event as materialized (${eventOfMail}${ifUnchanged} union all ${eventOfBlocked})`,
    );
  else parts.push(sql`new_event as materialized (${eventOfMail}${ifUnchanged})`);
  parts.push(eventsAndDeliveries);
  if (mails.messages.length > 0)
    parts.push(
      sql`thread as (${threadsWritten(mails.threads, ifUnchanged)})`,
      sql`message as (${messageInto}${bodiesOf === undefined ? bodiesGiven(mails.bodies) : bodiesOfTwin(bodiesOf)} from mail${ifUnchanged})`,
    );
  parts.push(...labelsWritten(mails.threads, ifUnchanged), ...blocksWritten(mails.threadBlocks, ifUnchanged));
  if (mails.sources.length > 0) parts.push(sql`source as (${sourcesInserted(mails.sources, ifUnchanged)})`);
  if (mails.attachments.length > 0)
    parts.push(
      sql`attachment as (${attachmentInto}${recordSet(attachments, mails.attachments, attachmentFields)} join mail
        on mail."sourceId" = row."sourceId"${ifUnchanged})`,
    );
  if (mails.correspondents.length > 0)
    parts.push(sql`correspondent as (${insertion(correspondents, mails.correspondents, ifNew)})`);
  if (mails.awaitedParents.length > 0)
    parts.push(sql`awaited as (${insertion(awaitedParents, mails.awaitedParents, ifNew)})`);
  const [written] = await query<{ hasDeliveries: boolean }>(
    db,
    sql`with asked as materialized (
          select * from ${recordsOf(readInboxes, mails.inboxes)}
        ),
        locked as materialized (select from asked cross join lateral (select revision, deleted_at from inboxes
          where id = asked.id limit 1 for update skip locked) i where i.revision = asked.revision and i.deleted_at is null),
        mail as materialized (select * from ${recordsOf(inboundMessages, mails.messages)}),
        unchanged as materialized (select (select count(*) from locked) = (select count(*) from asked)
          ${isGuess ? noneKnown : nothing} as are_all),
        ${sql.join(parts, sql`, `)}
        update inboxes set ${totalsAssigned}, revision = row.revision + 1
        from asked row where inboxes.id = row.id and (select are_all from unchanged) returning ${hasDeliveries}`,
  );
  return (
    written && {
      inboxes: mails.inboxes.map((inbox) => ({ ...inbox, revision: inbox.revision + 1 })),
      hasDeliveries: written.hasDeliveries,
    }
  );
}

export interface WrittenMails {
  inboxes: ReadInbox[];
  hasDeliveries: boolean;
}

export interface MailsWriting {
  /** Whether the mails were filed without reading the facts. Then nothing is written if an inbox knows or awaits one of the Message-IDs. */
  isGuess?: boolean;
  /** The id of a message with the same bodies. They are copied from it in the database, so that they are not sent and compressed again. */
  bodiesOf?: string | undefined;
}

const { direction, status, bodyText, bodyHtml, ...others } = getTableColumns(messages);
const { providerMessageId, failure, autoSubmitted, ...rest } = others;
const { metadata, headers, forwardOf, delivery, retries, ...ofInbound } = rest;
const inboundFields = Object.keys(ofInbound) as (keyof typeof ofInbound)[];
const inboundMessages = recordsWith({
  ...ofInbound,
  eventId: events.id,
  accountId: events.accountId,
  body: messages.seq,
});

const messageInto = sql`insert into messages (${columnNames(messages, inboundFields)}, direction, status, body_text, body_html)
  select ${fieldsOf("mail", inboundFields)}, 'inbound', 'received', `;

/** Selects the bodies of a mail from array parameters, by the mail's index `body`: a join would copy the texts before it writes them. */
function bodiesGiven(bodies: readonly Body[]): SQL {
  const texts = arrayOf(
    "text",
    bodies.map(({ text }) => text),
  );
  const htmls = arrayOf(
    "text",
    bodies.map(({ html }) => html ?? null),
  );
  return sql`(${texts})[mail.body], (${htmls})[mail.body]`;
}

function bodiesOfTwin(id: string): SQL {
  return sql`(select body_text from messages where id = ${id}), (select body_html from messages where id = ${id})`;
}

const eventOfMail = sql.raw(
  `select "eventId" as id, "accountId" as account_id, "inboxId" as inbox_id, "threadId" as thread_id, id as message_id,
     'message.received' as type, "createdAt" as occurred_at, null::jsonb as data, automated is not null as is_automated from mail`,
);

const { messageId: _released, threadId: _joined, ...ofBlocked } = getTableColumns(quarantine);
const blockedFields = Object.keys(ofBlocked) as (keyof typeof ofBlocked)[];
const blockedMails = recordsWith({ ...ofBlocked, eventId: events.id });
const quarantineInto = sql`insert into quarantine (${columnNames(quarantine, blockedFields)})
  select ${fieldsOf("blocked", blockedFields)} from blocked`;

const eventOfBlocked = sql.raw(
  `select "eventId", "accountId", "inboxId", null, null, 'message.blocked', "receivedAt",
     jsonb_build_object('id', id, 'reason', reason, 'ruleId', "ruleId", 'from', "fromAddr", 'to', "toAddr", 'subject', subject),
     false from blocked`,
);

const { messageId, ...ofAttachment } = getTableColumns(attachments);
const attachmentFields = Object.keys(ofAttachment) as (keyof typeof ofAttachment)[];
const attachmentInto = sql`insert into attachments (message_id, ${columnNames(attachments, attachmentFields)})
  select mail.id, ${fieldsOf("row", attachmentFields)} from `;

const ofMail = sql.raw("mail");
const noneKnown = sql`and not exists (select from mail cross join lateral (${messageUnder(ofMail)}) known)
    and not exists (select from mail cross join lateral (${messageOtherwiseNamed(ofMail)}) known)
    and not exists (select from mail cross join lateral (${threadAwaiting(ofMail)}) waiting)
    and not exists (select from mail cross join lateral (${quarantinedUnder(ofMail)} limit 1) blocked)
    and not exists (select from mail cross join lateral (${removedUnder(ofMail)} limit 1) removed)`;

const ifUnchanged = sql` where (select are_all from unchanged)`;

const ifNew = sql`${ifUnchanged} on conflict do nothing`;

const totalsAssigned = assigned(inboxes, mailTotals);
const readInboxes = recordsWith(columnsOf(inboxes, ["id", "revision", ...mailTotals]));
