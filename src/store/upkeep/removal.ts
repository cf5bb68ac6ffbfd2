import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { EmptiedInbox, OldMessage } from "../../domain/removal.ts";
import { assigned, selected } from "../columns.ts";
import { lockNumber } from "../locks.ts";
import { removeQuarantined } from "../mail/quarantine.ts";
import { sharesReleased } from "../mail/shares.ts";
import { isReached } from "../reach.ts";
import { insertRows, recordSet } from "../rows.ts";
import { inboxes, messages, removedThreads, threads } from "../schema.ts";

/*
 * The statements that remove messages. They run in one transaction, which holds the lock of the inbox.
 */

/** The totals that a removal changes. */
const removalTotals = [
  "removedCount",
  "removedInboundCount",
  "lastRemovedSeq",
  "lastRemovedInboundSeq",
  "threadCount",
  "unreadCount",
  "archiveCount",
  "trashCount",
  "storageBytes",
  "lastMessageAt",
  "lastMessageId",
] as const;

const emptiedFields = selected(inboxes, "i", [
  "id",
  "accountId",
  "messageCount",
  "inboundCount",
  "deletedAt",
  ...removalTotals,
]);

/** Takes the right to remove mail of an inbox until the end of the transaction. Returns false if another process has it. */
export async function holdRemoval(tx: Db, inboxId: string): Promise<boolean> {
  const [lock] = await query<{ ours: boolean }>(
    tx,
    sql`select pg_try_advisory_xact_lock(hashtextextended(${inboxId}, ${lockNumber("removing")})) as ours`,
  );
  return lock?.ours === true;
}

/** Finds the inbox of a message, if it is within the reach. */
export async function findInboxOfMessage(db: Db, reach: Reach, messageId: string): Promise<string | undefined> {
  const [inbox] = await query<{ id: string }>(
    db,
    sql`select i.id from messages m join inboxes i on i.id = m.inbox_id where m.id = ${messageId} and ${isReached(reach)}`,
  );
  return inbox?.id;
}

/** Locks an inbox until the end of the transaction. Undefined if it does not exist. */
export async function lockInboxToEmpty(tx: Db, id: string): Promise<EmptiedInbox | undefined> {
  const [inbox] = await query<EmptiedInbox>(
    tx,
    // The statements are planned at each run: a generic plan, which must fit tables of any size, scans whole tables for the chosen rows.
    sql`select ${emptiedFields}, least(i.retention_days, a.retention_days) as "retentionDays",
          coalesce((select seq from counted_inboxes where inbox_id = i.id), 0) as "countedSeq",
          set_config('plan_cache_mode', 'force_custom_plan', true)
        from inboxes i join accounts a on a.id = i.account_id where i.id = ${id} for update of i`,
  );
  return inbox;
}

const oldFields = selected(messages, "m", [
  "id",
  "threadId",
  "seq",
  "direction",
  "directionSeq",
  "status",
  "createdAt",
  "sizeBytes",
  "attachmentCount",
]);

/** Lists the first messages of an inbox with a number above `afterSeq`. */
export function listFirstMessages(tx: Db, inboxId: string, afterSeq: number, limit: number): Promise<OldMessage[]> {
  return query<OldMessage>(
    tx,
    sql`select ${oldFields} from messages m where m.inbox_id = ${inboxId} and m.seq > ${afterSeq} order by m.seq limit ${limit}`,
  );
}

/** A thread in the trash. */
export interface TrashedThread {
  id: string;
  lastSeq: number;
  /** Whether a message of it waits to be sent. */
  isUnsent: boolean;
}

/** Lists threads of an inbox that came into the trash before an instant, in the order of their last messages, behind a number. */
export function listTrashedThreads(
  db: Db,
  { inboxId, before, afterSeq, limit }: { inboxId: string; before: Date; afterSeq: number; limit: number },
): Promise<TrashedThread[]> {
  return query(
    db,
    sql`select t.id, t.last_seq as "lastSeq", exists (select from messages m where m.thread_id = t.id and ${isUnsent}) as "isUnsent"
        from (select id, last_seq from threads where inbox_id = ${inboxId} and folder = 'trash' and is_read
          and last_seq > ${afterSeq} and trashed_at < ${before} order by last_seq limit ${limit}) t
        order by t.last_seq`,
  );
}

/** Lists the first inboxes behind an id with threads that came into the trash before an instant. */
export async function listInboxesWithTrash(db: Db, before: Date, after: string, limit: number): Promise<string[]> {
  const inboxesWithTrash = await query<{ id: string }>(
    db,
    sql`select distinct inbox_id as id from threads where trashed_at < ${before} and inbox_id > ${after} order by 1 limit ${limit}`,
  );
  return inboxesWithTrash.map(({ id }) => id);
}

/** Lists the first messages of a thread with a number above `afterSeq`. */
export function listFirstOfThread(tx: Db, threadId: string, afterSeq: number, limit: number): Promise<OldMessage[]> {
  return query<OldMessage>(
    tx,
    sql`select ${oldFields} from messages m where m.thread_id = ${threadId} and m.seq > ${afterSeq} order by m.seq limit ${limit}`,
  );
}

export async function findMessageToRemove(tx: Db, inboxId: string, id: string): Promise<OldMessage | undefined> {
  const [message] = await query<OldMessage>(
    tx,
    sql`select ${oldFields} from messages m where m.id = ${id} and m.inbox_id = ${inboxId}`,
  );
  return message;
}

/** Whether a message of a thread waits to be sent, if only to some of its recipients: this one, or one behind a number. */
export async function isUnsentInThread(
  db: Db,
  threadId: string,
  which: { seq: number } | { after: number },
): Promise<boolean> {
  const asked = "seq" in which ? sql`m.seq = ${which.seq}` : sql`m.seq > ${which.after}`;
  const unsent = await query(
    db,
    sql`select from messages m where m.thread_id = ${threadId} and ${asked} and ${isUnsent} limit 1`,
  );
  return unsent.length === 1;
}

/** Notes that threads are removed, and that their messages are to be removed. */
export function insertRemovedThreads(tx: Db, removed: readonly RemovedThread[]): Promise<void> {
  return insertRows(tx, removedThreads, removed);
}

export type RemovedThread = typeof removedThreads.$inferSelect;

/** Finds the first removed thread that still has messages and has an id above `after`. */
export async function findRemovedThread(db: Db, after: string): Promise<RemovedThread | undefined> {
  const [thread] = await query<RemovedThread>(
    db,
    sql`select ${selected(removedThreads, "r")} from removed_threads r where r.thread_id > ${after} order by r.thread_id limit 1`,
  );
  return thread;
}

/** Takes the right to remove the messages of a removed thread until the end of the transaction. Undefined if another process has it. */
export async function lockRemovedThread(tx: Db, threadId: string): Promise<RemovedThread | undefined> {
  const [thread] = await query<RemovedThread>(
    tx,
    sql`select ${selected(removedThreads, "r")} from removed_threads r where r.thread_id = ${threadId} for update skip locked`,
  );
  return thread;
}

/** Forgets a removed thread, once it has no message any more. Returns false if it has one. */
export async function deleteRemovedThread(tx: Db, threadId: string): Promise<boolean> {
  const deleted = await query(
    tx,
    sql`delete from removed_threads where thread_id = ${threadId}
          and not exists (select from messages where thread_id = ${threadId}) returning 1`,
  );
  return deleted.length === 1;
}

/**
 * Locks outbound messages, so that no report and no outcome is written for one that is being removed. Skips those that another transaction
 * has locked. Returns the ids of the locked ones.
 */
export async function lockOutbound(tx: Db, ids: readonly string[]): Promise<Set<string>> {
  const locked = await query<{ id: string }>(
    tx,
    sql`select id from messages where id = any(${arrayOf("text", ids)}) order by id for update skip locked`,
  );
  return new Set(locked.map(({ id }) => id));
}

/** Lists the events about outbound messages. The event of a received message has an id that follows from that of the message. */
export function listEventsOfOutbound(
  tx: Db,
  messageIds: readonly string[],
): Promise<{ id: string; messageId: string }[]> {
  return query(
    tx,
    sql`select id, message_id as "messageId" from events
        where message_id = any(${arrayOf("text", messageIds)}) and type <> 'message.received'`,
  );
}

/** Lists the messages and events among these that have a row in the outbox. The id of such a row begins with theirs. */
export async function listInLine(tx: Db, ids: readonly string[]): Promise<Set<string>> {
  const inLine = await query<{ id: string }>(
    tx,
    sql`select asked.id from unnest(${arrayOf("text", ids)}) as asked (id) where exists (select from outbox o where ${isFor(sql`asked.id`)})`,
  );
  return new Set(inLine.map(({ id }) => id));
}

function isFor(id: SQL): SQL {
  return sql`o.subject_id >= ${id} collate "C" and o.subject_id < (${id} || '/') collate "C"`;
}

/** Whether a message `m` waits to be sent, if only to some of its recipients. */
const isUnsent = sql`m.direction = 'outbound' and (m.status = 'pending' or exists (select from outbox o where ${isFor(sql`m.id`)}))`;

/**
 * Deletes rows of the outbox that deliver these events. An attempt that runs goes on, and its answer is not logged any more. Skips rows that
 * another transaction has locked, because it may lock several in another order.
 */
export async function deleteDeliveriesInLine(tx: Db, eventIds: readonly string[]): Promise<void> {
  await query(
    tx,
    sql`with line as materialized (
          select o.subject_id from unnest(${arrayOf("text", eventIds)}) as asked (id) join outbox o on ${isFor(sql`asked.id`)}
          for update of o skip locked
        )
        delete from outbox where subject_id = any(array(select subject_id from line))`,
  );
}

export interface Removal {
  accountId: string;
  inboxId: string;
  messages: readonly OldMessage[];
  eventIds: readonly string[];
  /** When they were removed on request. Then copies of them do not come back. Undefined for mail whose retention is over. */
  requestedAt: Date | undefined;
}

/**
 * Deletes messages with their rows in other tables, and the sources of their reports, which nothing else uses. Any other source is deleted
 * with the last message that uses it or has an attachment in it. Their events leave the log. The last event of the account stays without its
 * data, so that a reader of the log can continue from it.
 */
export async function deleteMessages(tx: Db, removal: Removal): Promise<void> {
  const { accountId, inboxId, messages: gone, eventIds, requestedAt } = removal;
  const idsOf = (which: readonly OldMessage[]) =>
    arrayOf(
      "text",
      which.map(({ id }) => id),
    );
  const ids = idsOf(gone);
  const sent = idsOf(gone.filter(({ direction }) => direction === "outbound"));
  const withFiles = idsOf(gone.filter(({ attachmentCount }) => attachmentCount > 0));
  const numbers = arrayOf(
    "int4",
    gone.map(({ seq }) => seq),
  );
  await query(
    tx,
    sql`with held as materialized (
          select source_id, id from messages where id = any(${ids}) and source_id is not null
          union select source_id, message_id from attachments where message_id = any(${withFiles})
        ),
        ${sharesReleased(sql`select source_id, count(*) as holders from held group by source_id`)},
        ${requestedAt === undefined ? sql`` : remembered(ids, sent, requestedAt)}
        received as (delete from recipients where message_id = any(${sent})),
        drafted as (delete from drafts where id = any(${sent})),
        named as (delete from message_names where message_id = any(${sent})),
        attached as (delete from attachments where message_id = any(${withFiles})),
        reported as (delete from reports where message_id = any(${sent}) returning source_id),
        unreported as (delete from source_chunks
          where source_id = any(array(select source_id from reported where source_id is not null))),
        ${eventsDeleted(accountId, eventIds)}
        delete from messages where id = any(${ids})`,
  );
  // A statement of its own, because only one that begins after the messages are deleted sees the rows of an index that was being filled.
  await query(tx, sql`delete from message_search where inbox_id = ${inboxId} and seq = any(${numbers})`);
}

/** Deletes the events about scheduled mail that ended without being sent, and their deliveries. */
export async function deleteEventsOfUnsent(tx: Db, accountId: string, draftIds: readonly string[]): Promise<void> {
  const told = await listEventsOfOutbound(tx, draftIds);
  if (told.length === 0) return;
  const ids = told.map(({ id }) => id);
  await deleteDeliveriesInLine(tx, ids);
  await query(tx, sql`with ${eventsDeleted(accountId, ids)} select`);
}

/** Parts of a statement that delete events with the log of their deliveries. The last event of the account only loses its data. */
function eventsDeleted(accountId: string, eventIds: readonly string[]): SQL {
  const ids = arrayOf("text", eventIds);
  return sql`last as materialized (select id from events where account_id = ${accountId} order by written_by desc, id desc limit 1),
    told as (delete from events where id = any(${ids}) and id <> (select id from last)),
    muted as (update events set data = null where id = any(${ids}) and id = (select id from last) and data is not null),
    delivered as (delete from deliveries where event_id = any(${ids}))`;
}

/** Removes the quarantined mails that became these messages. It changes the bytes of their inbox, so it comes after the totals. */
export async function removeReleased(tx: Db, messageIds: readonly string[]): Promise<void> {
  const released = await query<{ id: string }>(
    tx,
    sql`select id from quarantine where message_id = any(${arrayOf("text", messageIds)})`,
  );
  const ids = released.map(({ id }) => id);
  if (ids.length > 0) await removeQuarantined(tx, ids);
}

/** A part of the statement that keeps the Message-IDs of removed messages, also those that a relay gave them. */
function remembered(ids: SQL, sent: SQL, requestedAt: Date): SQL {
  return sql`remembered as (
      insert into removed_messages (inbox_id, message_id_hash, message_id, content_hash, removed_at)
      select inbox_id, message_id_hash, id, content_hash, ${requestedAt}::timestamptz from messages where id = any(${ids})
      union all
      select inbox_id, name_hash, message_id, null, ${requestedAt}::timestamptz from message_names where message_id = any(${sent})
      on conflict do nothing
    ),`;
}

/** Deletes threads, and the Message-IDs for which they wait. */
export async function deleteThreads(tx: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await query(
    tx,
    sql`with awaited as (delete from awaited_parents where thread_id = any(${arrayOf("text", ids)}))
        delete from threads where id = any(${arrayOf("text", ids)})`,
  );
}

const threadStates = selected(threads, "t");

export function listThreadStates(tx: Db, ids: readonly string[]): Promise<(typeof threads.$inferSelect)[]> {
  return query(tx, sql`select ${threadStates} from threads t where t.id = any(${arrayOf("text", ids)})`);
}

/** The last message of a thread, and what else its row tells of its messages. */
export interface FoundRemains {
  threadId: string;
  lastSeq: number;
  lastMessageId: string;
  lastMessageAt: Date;
  bodyText: string;
  lastInboundSeq: number;
  hasAttachments: boolean;
  /** The subject and the instant of the first message. */
  subject: string;
  createdAt: Date;
}

/** The characters of a text that its preview is made of. */
const previewedCharacters = 4_000;

/** Finds what these threads have after a removal. */
export function listThreadRemains(tx: Db, ids: readonly string[]): Promise<FoundRemains[]> {
  return query<FoundRemains>(
    tx,
    sql`select t.id as "threadId", last.seq as "lastSeq", last.id as "lastMessageId", last.created_at as "lastMessageAt",
          left(last.body_text, ${previewedCharacters}) as "bodyText",
          coalesce((select seq from messages where thread_id = t.id and direction = 'inbound' order by seq desc limit 1), 0)
            as "lastInboundSeq",
          t.has_attachments and exists (select from messages where thread_id = t.id and attachment_count > 0) as "hasAttachments",
          first.subject, first.created_at as "createdAt"
        from threads t
        cross join lateral (select subject, created_at from messages where thread_id = t.id order by seq limit 1) first
        cross join lateral (select * from messages where thread_id = t.id order by seq desc limit 1) last
        where t.id = any(${arrayOf("text", ids)})`,
  );
}

/** A message with the people that it adds to its thread. */
export interface PeopleOfMessage {
  threadId: string;
  /** Undefined in a mail without a sender. */
  from: string;
  fromName: string | null;
  /** The recipients of an outbound message, without those of a blind copy. */
  recipients: { address: string; name: string | null }[] | null;
}

/** Lists the people of the first `limit` messages of each of these threads, in order. */
export function listPeopleOfThreads(tx: Db, ids: readonly string[], limit: number): Promise<PeopleOfMessage[]> {
  return query<PeopleOfMessage>(
    tx,
    sql`select m.thread_id as "threadId", m.from_addr as "from", m.from_name as "fromName",
          case when m.direction = 'outbound' then (
            select json_agg(json_build_object('address', r.address, 'name', r.name) order by r.position)
            from recipients r where r.message_id = m.id and r.type <> 'bcc'
          ) end as recipients
        from unnest(${arrayOf("text", ids)}) as asked (thread_id)
        cross join lateral (select * from messages where thread_id = asked.thread_id order by seq limit ${limit}) m
        order by m.thread_id, m.seq`,
  );
}

/** Finds the last message of an inbox. */
export async function findLastMessage(tx: Db, inboxId: string): Promise<{ id: string; createdAt: Date } | undefined> {
  const [last] = await query<{ id: string; createdAt: Date }>(
    tx,
    sql`select id, created_at as "createdAt" from messages where inbox_id = ${inboxId} order by seq desc limit 1`,
  );
  return last;
}

const totalsAssigned = assigned(inboxes, removalTotals);

/** Writes the totals of an inbox after a removal. */
export async function markMessagesRemoved(tx: Db, inbox: EmptiedInbox): Promise<void> {
  await query(
    tx,
    sql`update inboxes set ${totalsAssigned}, revision = revision + 1
        from ${recordSet(inboxes, [inbox], ["id", ...removalTotals])} where inboxes.id = row.id`,
  );
}

/**
 * Looks at up to `limit` living inboxes after `after`, in the order of ids, and finds those whose oldest mail is older than its retention.
 * Returns the last id that it has looked at; undefined at the end.
 */
export async function listInboxesToExpire(
  db: Db,
  { after, daysOfService, now, limit }: { after: string; daysOfService: number | null; now: Date; limit: number },
): Promise<{ ids: string[]; last: string | undefined }> {
  const rows = await query<{ last: string | null; id: string | null }>(
    db,
    sql`with looked as materialized (
          select i.id, i.account_id, i.retention_days, i.removed_count, i.last_removed_seq from inboxes i
          where i.id > ${after} and i.deleted_at is null order by i.id limit ${limit}
        )
        select (select max(id) from looked) as last, due.id from (select) one left join (
          select l.id from looked l join accounts a on a.id = l.account_id
          cross join lateral (select least(l.retention_days, a.retention_days, ${daysOfService}::int) as days offset 0) retained
          where retained.days is not null
          and (select created_at from messages where inbox_id = l.id
              and seq > case when l.removed_count = l.last_removed_seq then l.last_removed_seq else 0 end
            order by seq limit 1) < ${now}::timestamptz - retained.days * interval '24 hours'
        ) due on true`,
  );
  return { ids: rows.flatMap(({ id }) => id ?? []), last: rows[0]?.last ?? undefined };
}
