import { sql } from "drizzle-orm";
import type { ThreadState } from "../domain/conversation.ts";
import { type Db, query } from "./db.ts";
import { recordSet } from "./rows.ts";
import { coldSends, messages, threads } from "./schema.ts";

/** What a send is judged by: read behind the lock on its inbox. */

export interface WindowUse {
  inboxId: string;
  inWindow: number;
  oldestInWindowAt: Date;
}

export async function listWindowUses(tx: Db, inboxIds: readonly string[], after: Date): Promise<WindowUse[]> {
  return query<WindowUse & Record<string, unknown>>(
    tx,
    sql`select inbox_id as "inboxId", count(*) as "inWindow", min(created_at) as "oldestInWindowAt" from messages
        where inbox_id in (select json_array_elements_text(${JSON.stringify(inboxIds)}::json))
          and direction = 'outbound' and created_at > ${after} group by inbox_id`,
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

export async function addColdSends(
  tx: Db,
  sends: readonly (Recipient & { count: number })[],
  day: string,
): Promise<void> {
  if (sends.length === 0) return;
  await query(
    tx,
    sql`insert into cold_sends (inbox_id, recipient, sent_on, count)
        select row."inboxId", row.recipient, ${day}::date, row.count
        from ${recordSet(coldSends, sends, ["inboxId", "recipient", "count"])}
        on conflict (inbox_id, recipient, sent_on) do update set count = cold_sends.count + excluded.count`,
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

/** The last message of each thread that did not fail: what a reply answers and quotes. */
export async function listRepliedMessages(tx: Db, threadIds: readonly string[]): Promise<RepliedMessage[]> {
  if (threadIds.length === 0) return [];
  return query<RepliedMessage & Record<string, unknown>>(
    tx,
    sql`select m.thread_id as "threadId", m.from_addr as "fromAddr", m.from_name as "fromName", m.body_text as "bodyText",
          m.body_html as "bodyHtml", m.created_at as "createdAt", m.rfc_message_id as "rfcMessageId"
        from json_array_elements_text(${JSON.stringify(threadIds)}::json) as thread(id)
        cross join lateral (select * from messages where thread_id = thread.id and status <> 'failed'
          order by seq desc limit 1) m`,
  );
}

/** Message-IDs of each thread, oldest first: the first one and the last hundred. */
export async function listThreadMessageIds(
  tx: Db,
  threadIds: readonly string[],
): Promise<{ threadId: string; rfcMessageId: string }[]> {
  if (threadIds.length === 0) return [];
  return query<{ threadId: string; rfcMessageId: string }>(
    tx,
    sql`select thread.id as "threadId", m.rfc_message_id as "rfcMessageId"
        from json_array_elements_text(${JSON.stringify(threadIds)}::json) as thread(id)
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
    .where(sql`${threads.id} in (select json_array_elements_text(${JSON.stringify(ids)}::json))`);
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
    .where(sql`${messages.id} in (select json_array_elements_text(${JSON.stringify(ids)}::json))`);
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
    .where(sql`${messages.id} in (select json_array_elements_text(${JSON.stringify(ids)}::json))`);
}

/** Which of these usernames are inboxes of which accounts. */
export async function listOwners(
  tx: Db,
  usernames: readonly string[],
): Promise<{ username: string; accountId: string }[]> {
  if (usernames.length === 0) return [];
  return query<{ username: string; accountId: string }>(
    tx,
    sql`select a.username, i.account_id as "accountId" from json_array_elements_text(${JSON.stringify(usernames)}::json) as name(name)
        join addresses a on a.username = name.name join inboxes i on i.id = a.inbox_id and i.deleted_at is null`,
  );
}
