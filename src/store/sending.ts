import { and, eq, isNull, sql } from "drizzle-orm";
import type { ThreadState } from "../domain/conversation.ts";
import { arrayOf, type Db, query } from "./db.ts";
import type { KeyUse } from "./idempotency.ts";
import type { LockedInbox } from "./inboxes.ts";
import type { MessageRow } from "./messages.ts";
import type { NewOutboxItem } from "./outbox.ts";
import { insertion, recordSet } from "./rows.ts";
import { coldSends, idempotencyKeys, inboxes, messages, outbox, threads } from "./schema.ts";

/** An inbox that sends, under the lock that counts its sends and numbers its messages. */
export type Sender = Omit<LockedInbox, "hasWebhook">;

/** Locks in the order of ids, so that two batches that share inboxes wait for each other instead of dying. */
export async function lockSenders(tx: Db, ids: readonly string[]): Promise<Sender[]> {
  return query<Sender & Record<string, unknown>>(
    tx,
    sql`select id, account_id as "accountId", username, message_count as "messageCount", inbound_count as "inboundCount",
          thread_count as "threadCount", unread_count as "unreadCount", last_message_at as "lastMessageAt",
          last_message_id as "lastMessageId", sent_on::text as "sentOn", sent_count as "sentCount"
        from inboxes where id = any(${arrayOf("text", ids)}) and deleted_at is null order by id for update`,
  );
}

/** What a send is judged by: read behind the lock on its inbox. */
export interface WindowUse {
  inboxId: string;
  inWindow: number;
  oldestInWindowAt: Date;
}

/** An inbox, and how many of its sends are worth counting: more than the limit makes no difference. */
export interface WindowCount {
  inboxId: string;
  upTo: number;
}

export async function listWindowUses(tx: Db, counts: readonly WindowCount[], after: Date): Promise<WindowUse[]> {
  if (counts.length === 0) return [];
  return query<WindowUse & Record<string, unknown>>(
    tx,
    sql`select asked.id as "inboxId", used.count as "inWindow", used.oldest as "oldestInWindowAt"
        from unnest(${arrayOf(
          "text",
          counts.map(({ inboxId }) => inboxId),
        )}, ${arrayOf(
          "int4",
          counts.map(({ upTo }) => upTo),
        )}) as asked (id, up_to)
        cross join lateral (select count(*), min(created_at) as oldest from (
          select created_at from messages where inbox_id = asked.id and direction = 'outbound' and created_at > ${after}
          order by created_at desc limit asked.up_to) newest) used
        where used.count > 0`,
  );
}

export interface Recipient {
  inboxId: string;
  recipient: string;
}

/** How cold each recipient is: whether it has ever written to the inbox, and how often it was sent to on that day. */
export async function listRecipientUses(
  tx: Db,
  recipients: readonly Recipient[],
  day: string,
): Promise<(Recipient & { isKnown: boolean; sent: number })[]> {
  if (recipients.length === 0) return [];
  return query<Recipient & { isKnown: boolean; sent: number } & Record<string, unknown>>(
    tx,
    sql`select row."inboxId", row.recipient,
          exists (select from correspondents c where c.inbox_id = row."inboxId" and c.address = row.recipient) as "isKnown",
          coalesce((select count from cold_sends s where s.inbox_id = row."inboxId" and s.recipient = row.recipient
            and s.sent_on = ${day}::date), 0) as sent
        from ${recordSet(coldSends, recipients, ["inboxId", "recipient"])}`,
  );
}

export interface RepliedMessage {
  threadId: string;
  fromAddr: string;
  fromName: string | null;
  bodyText: string;
  bodyHtml: string | null;
  createdAt: Date;
  rfcMessageId: string;
}

/** Which bodies of the replied messages are wanted: a reply without a quote needs none, one in text alone no HTML. */
export interface QuotedBodies {
  text: boolean;
  html: boolean;
}

/**
 * The last message of each thread that did not fail: what a reply answers and quotes. Of a body no more than a quote
 * reads (mail/quote-html.ts).
 */
export async function listRepliedMessages(
  tx: Db,
  threadIds: readonly string[],
  bodies: QuotedBodies,
): Promise<RepliedMessage[]> {
  if (threadIds.length === 0) return [];
  return query<RepliedMessage & Record<string, unknown>>(
    tx,
    sql`select thread.id as "threadId", m.from_addr as "fromAddr", m.from_name as "fromName",
          case when ${bodies.text}::boolean then left(m.body_text, ${mostQuotedCharacters}::int) else '' end as "bodyText",
          case when ${bodies.html}::boolean then left(m.body_html, ${mostQuotedCharacters}::int) end as "bodyHtml",
          m.created_at as "createdAt", m.rfc_message_id as "rfcMessageId"
        from unnest(${arrayOf("text", threadIds)}) as thread (id)
        cross join lateral (select * from messages where thread_id = thread.id and status <> 'failed'
          order by seq desc limit 1) m`,
  );
}

const mostQuotedCharacters = 512 * 1024 + 1;

/** Message-IDs of each thread, oldest first: the first one and the last hundred. */
export async function listThreadMessageIds(
  tx: Db,
  threadIds: readonly string[],
): Promise<{ threadId: string; rfcMessageId: string }[]> {
  if (threadIds.length === 0) return [];
  return query<{ threadId: string; rfcMessageId: string }>(
    tx,
    sql`select thread.id as "threadId", m.rfc_message_id as "rfcMessageId"
        from unnest(${arrayOf("text", threadIds)}) as thread (id)
        cross join lateral (
          (select seq, rfc_message_id from messages where thread_id = thread.id order by seq limit 1)
          union (select seq, rfc_message_id from messages where thread_id = thread.id order by seq desc limit 100)) m
        order by thread.id, m.seq`,
  );
}

export async function listThreadStates(tx: Db, ids: readonly string[]): Promise<ThreadState[]> {
  if (ids.length === 0) return [];
  return tx
    .select()
    .from(threads)
    .where(sql`${threads.id} = any(${arrayOf("text", ids)})`);
}

/** Where messages stand in their threads. */
export async function listPlaces(
  tx: Db,
  ids: readonly string[],
): Promise<{ id: string; threadId: string; seq: number }[]> {
  if (ids.length === 0) return [];
  return tx
    .select({ id: messages.id, threadId: messages.threadId, seq: messages.seq })
    .from(messages)
    .where(sql`${messages.id} = any(${arrayOf("text", ids)})`);
}

export interface SentMessage {
  id: string;
  inboxId: string;
  threadId: string;
  status: "received" | "pending" | "sent" | "failed";
  rfcMessageId: string;
  providerMessageId: string | null;
}

/** What became of messages that were sent: for replays, and for the answer to a send that waited. */
export async function listSentMessages(db: Db, ids: readonly string[]): Promise<SentMessage[]> {
  if (ids.length === 0) return [];
  return db
    .select({
      id: messages.id,
      inboxId: messages.inboxId,
      threadId: messages.threadId,
      status: messages.status,
      rfcMessageId: messages.rfcMessageId,
      providerMessageId: messages.providerMessageId,
    })
    .from(messages)
    .where(sql`${messages.id} = any(${arrayOf("text", ids)})`);
}

/** Which of these usernames are inboxes of which accounts. */
export async function listOwners(
  tx: Db,
  usernames: readonly string[],
): Promise<{ username: string; accountId: string }[]> {
  if (usernames.length === 0) return [];
  return query<{ username: string; accountId: string }>(
    tx,
    sql`select a.username, i.account_id as "accountId" from unnest(${arrayOf("text", usernames)}) as name (name)
        join addresses a on a.username = name.name join inboxes i on i.id = a.inbox_id and i.deleted_at is null`,
  );
}

/** All that accepted sends write. */
export interface AcceptedSends {
  keyUses: readonly KeyUse[];
  threads: readonly ThreadState[];
  messages: readonly MessageRow[];
  outboxItems: readonly NewOutboxItem[];
  coldSends: readonly (Recipient & { count: number })[];
  senders: readonly Sender[];
}

/**
 * Writes what was decided under the lock on the inboxes, in one statement. A thread that is there already is met by its
 * key, since an update that joins may be planned, while the tables are still small, to read them whole.
 */
export async function insertSends(tx: Db, sends: AcceptedSends, day: string): Promise<void> {
  const cold =
    sends.coldSends.length === 0
      ? sql``
      : sql`cold as (insert into cold_sends (inbox_id, recipient, sent_on, count)
          select row."inboxId", row.recipient, ${day}::date, row.count
          from ${recordSet(coldSends, sends.coldSends, ["inboxId", "recipient", "count"])}
          on conflict (inbox_id, recipient, sent_on) do update set count = cold_sends.count + excluded.count),`;
  await query(
    tx,
    sql`with used as (${insertion(idempotencyKeys, sends.keyUses)}),
        thread as (${insertion(threads, sends.threads, threadChanged)}),
        message as (${insertion(messages, sends.messages)}),
        ${cold}
        sender as (update inboxes set message_count = row."messageCount", thread_count = row."threadCount",
          unread_count = row."unreadCount", last_message_at = row."lastMessageAt", last_message_id = row."lastMessageId",
          sent_on = row."sentOn", sent_count = row."sentCount"
          from ${recordSet(inboxes, sends.senders, senderFields)} where inboxes.id = row.id)
        ${insertion(outbox, sends.outboxItems)}`,
  );
}

const threadChanged = sql` on conflict (id) do update set is_read = excluded.is_read, message_count = excluded.message_count,
  last_message_at = excluded.last_message_at, last_message_id = excluded.last_message_id, last_seq = excluded.last_seq,
  participants = excluded.participants, preview = excluded.preview, has_attachments = excluded.has_attachments`;

const senderFields = [
  "id",
  "messageCount",
  "threadCount",
  "unreadCount",
  "lastMessageAt",
  "lastMessageId",
  "sentOn",
  "sentCount",
];

/** How many an inbox has sent, and on which day, without the lock: to say so, not to judge by. */
export async function findSentCount(
  db: Db,
  inboxId: string,
): Promise<{ sentOn: string | null; sentCount: number } | undefined> {
  const [counted] = await db
    .select({ sentOn: inboxes.sentOn, sentCount: inboxes.sentCount })
    .from(inboxes)
    .where(and(eq(inboxes.id, inboxId), isNull(inboxes.deletedAt)));
  return counted;
}
