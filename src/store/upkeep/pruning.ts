import { type SQL, sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import { lockNumber } from "../locks.ts";
import { listQuarantinedOf, removeQuarantined } from "../mail/quarantine.ts";
import { listDraftIdsOf, removeDrafts } from "../send/drafts.ts";

/**
 * Runs one step of pruning. Returns how many rows were deleted, or undefined if another process is pruning: it does not wait for the lock,
 * which it holds until the end of the step. The statements are planned at each run, because a generic plan, which must fit tables of any
 * size, joins the chosen rows by a scan of the whole table.
 */
export function pruneStep(db: Db, step: (tx: Db) => Promise<number>): Promise<number | undefined> {
  return transaction(db, async (tx) => {
    const [lock] = await query<{ ours: boolean }>(
      tx,
      sql`select pg_try_advisory_xact_lock(${lockNumber("pruning")}) as ours,
            set_config('plan_cache_mode', 'force_custom_plan', true)`,
    );
    return lock?.ours ? step(tx) : undefined;
  });
}

export function removeKeysUsedBefore(tx: Db, instant: Date, limit: number): Promise<number> {
  return count(
    tx,
    sql`with old as materialized (
          select account_id, operation, key from idempotency_keys where created_at <= ${instant} order by created_at limit ${limit}
        )
        delete from idempotency_keys used using old
        where used.account_id = old.account_id and used.operation = old.operation and used.key = old.key
          and used.created_at <= ${instant} returning 1`,
  );
}

/** Forgets the Message-IDs of messages that were removed before an instant. */
export function forgetRemovedBefore(tx: Db, instant: Date, limit: number): Promise<number> {
  return count(
    tx,
    sql`with old as materialized (
          select inbox_id, message_id_hash, message_id from removed_messages
          where removed_at <= ${instant} order by removed_at limit ${limit}
        )
        delete from removed_messages r using old where r.inbox_id = old.inbox_id
          and r.message_id_hash = old.message_id_hash and r.message_id = old.message_id returning 1`,
  );
}

/** Deletes the counts of cold sends on days before `day`. */
export function removeColdSendsBefore(tx: Db, day: string, limit: number): Promise<number> {
  return count(
    tx,
    sql`with old as materialized (
          select inbox_id, recipient, sent_on from cold_sends where sent_on < ${day}::date order by sent_on limit ${limit}
        )
        delete from cold_sends s using old
        where s.inbox_id = old.inbox_id and s.recipient = old.recipient and s.sent_on = old.sent_on returning 1`,
  );
}

/** Deletes tokens that are no longer valid. */
export function removeUsedTokens(tx: Db, now: Date, limit: number): Promise<number> {
  const old = sql`select token from used_tokens where valid_until <= ${now} order by valid_until limit ${limit}`;
  return count(tx, sql`delete from used_tokens where token = any(array(${old})) returning 1`);
}

/** Deletes entries of the audit that are older than this. Ids sort by time, so the primary key finds the oldest ones. */
export function removeAuditEntriesBefore(tx: Db, before: Date, limit: number): Promise<number> {
  const oldest = sql`select id, at from audit_entries order by id limit ${limit}`;
  return count(
    tx,
    sql`delete from audit_entries where id = any(array(select id from (${oldest}) o where o.at < ${before})) returning 1`,
  );
}

/** Deletes rows whose last request is more than a day old by the clock of the database, since the window of every rate limit is shorter. */
export function removeOldRequests(tx: Db, limit: number): Promise<number> {
  const isOld = sql`asked_at[cardinality(asked_at)] < now() - interval '1 day'`;
  const chosen = sql`select account_id from recent_requests where ${isOld} limit ${limit}`;
  return count(tx, sql`delete from recent_requests where account_id = any(array(${chosen})) and ${isOld} returning 1`);
}

/** The last event that a step has looked at, in the order of age. The next step goes on after it. */
export interface PrunedTo {
  occurredAt: Date;
  id: string;
}

export interface OldEvents {
  before: Date;
  after: PrunedTo | undefined;
  /** The end of the partitions that are pruned row by row. Later ones are dropped whole. Undefined if all are pruned. */
  below: string | undefined;
  limit: number;
}

/** The most events that a step looks at, including those that stay. */
const mostLookedAt = 10_000;

/**
 * Deletes events before an instant, with the log of their deliveries. Keeps events with deliveries in the outbox, whose ids begin with the
 * event's id. Keeps the last event of each account, so that a reader of the log can continue from it.
 */
export async function removeEventsBefore(
  tx: Db,
  { before, after, below, limit }: OldEvents,
): Promise<{ removed: number; prunedTo: PrunedTo | undefined }> {
  const [step] = await query<{ removed: number; occurredAt: Date | null; id: string | null }>(
    tx,
    sql`with looked as materialized (
          select id, account_id, written_by, occurred_at from events
          where occurred_at < ${before} and (occurred_at, id) > (${after?.occurredAt ?? new Date(0)}, ${after?.id ?? ""})
          ${below === undefined ? sql`` : sql`and id < ${below}`}
          order by occurred_at, id limit ${mostLookedAt}
        ),
        old as materialized (
          select id, occurred_at from looked
          where not exists (select from outbox where subject_id >= looked.id and subject_id < looked.id || '/')
          and exists (select from events later
            where later.account_id = looked.account_id and (later.written_by, later.id) > (looked.written_by, looked.id))
          order by occurred_at, id limit ${limit}
        ),
        logged as (delete from deliveries d using old where d.event_id = old.id),
        removed as (delete from events where id = any(array(select id from old)) returning 1)
        select last.id, last.occurred_at as "occurredAt", (select count(*) from removed) as removed
        from (select) one left join lateral (
          select id, occurred_at from looked where (select count(*) from old) < ${limit} or id in (select id from old)
          order by occurred_at desc, id desc limit 1
        ) last on true`,
  );
  const { removed = 0, occurredAt = null, id = null } = step ?? {};
  return { removed, prunedTo: occurredAt === null || id === null ? undefined : { occurredAt, id } };
}

/** Finds the first deleted inbox with an id above `after` that still has its mail. */
export async function findInboxToEmpty(
  db: Db,
  deletedBefore: Date,
  after: string,
): Promise<{ id: string; deletedAt: Date } | undefined> {
  const [inbox] = await query<{ id: string; deletedAt: Date }>(
    db,
    sql`select id, deleted_at as "deletedAt" from inboxes
        where deleted_at is not null and erases_at is null and id > ${after} and deleted_at < ${deletedBefore} order by id limit 1`,
  );
  return inbox;
}

/** Deletes up to about `limit` other rows of a deleted inbox, once its messages are deleted. Returns how many. */
export async function removeInboxRows(tx: Db, inboxId: string, limit: number): Promise<number> {
  // Found by account and inbox, because these tables have no index that begins with the inbox.
  const ofAccount = sql`account_id = (select account_id from inboxes where id = ${inboxId}) and inbox_id = ${inboxId}`;
  const quarantined = await listQuarantinedOf(tx, inboxId, limit);
  let removed = quarantined.length === 0 ? 0 : (await removeQuarantined(tx, quarantined)).length;
  removed += await removeDrafts(tx, await listDraftIdsOf(tx, inboxId, limit));
  const suppressed = sql`select id from suppressions where ${ofAccount} limit ${limit}`;
  removed += await count(tx, sql`delete from suppressions where id = any(array(${suppressed})) returning 1`);
  const ruled = sql`select id from rules where ${ofAccount} limit ${limit}`;
  removed += await count(tx, sql`delete from rules where id = any(array(${ruled})) returning 1`);
  removed += await count(tx, sql`delete from policies where ${ofAccount} returning 1`);
  for (const { table, key } of tablesOfInboxes) {
    if (removed >= limit) return removed;
    const ofInbox = sql`from ${sql.identifier(table)} where inbox_id = ${inboxId}`;
    const chosen = sql`select ${sql.identifier(key)} ${ofInbox} limit ${limit}`;
    removed += await count(tx, sql`delete ${ofInbox} and ${sql.identifier(key)} = any(array(${chosen})) returning 1`);
  }
  return removed;
}

/**
 * The tables with rows of an inbox, each with the column by which rows are chosen. The rows of `cold_sends` for one recipient, one for each
 * day, are deleted together.
 */
const tablesOfInboxes = [
  { table: "threads", key: "id" },
  { table: "thread_blocks", key: "block" },
  { table: "thread_labels", key: "thread_id" },
  { table: "label_counts", key: "label" },
  { table: "correspondents", key: "address" },
  { table: "approved_recipients", key: "address" },
  { table: "awaited_parents", key: "message_id_hash" },
  { table: "removed_messages", key: "message_id_hash" },
  { table: "removed_threads", key: "thread_id" },
  { table: "cold_sends", key: "recipient" },
  { table: "message_search", key: "seq" },
];

/** Notes when the last rows of a deleted inbox are removed, unless it still has messages that wait to be sent. */
export async function markInboxEmptied(db: Db, inboxId: string, erasesAt: Date): Promise<void> {
  await query(
    db,
    sql`update inboxes set erases_at = ${erasesAt}, revision = revision + 1 where id = ${inboxId}
        and not exists (select from messages where inbox_id = ${inboxId})`,
  );
}

/** A deleted inbox whose last rows are due to be removed, which is also the position in the order of these. */
export interface InboxToErase {
  id: string;
  erasesAt: Date;
}

/** Finds the first inbox after `after` whose last rows are due to be removed. */
export async function findInboxToErase(
  db: Db,
  now: Date,
  after: InboxToErase | undefined,
): Promise<InboxToErase | undefined> {
  const [inbox] = await query<InboxToErase>(
    db,
    sql`select id, erases_at as "erasesAt" from inboxes
        where deleted_at is not null and erases_at <= ${now}
        and (erases_at, id) > (${after?.erasesAt ?? new Date(0)}, ${after?.id ?? ""} collate "C") order by erases_at, id limit 1`,
  );
  return inbox;
}

/** The last event of the account of an inbox, which stays, so that a reader of the log can continue from it. */
const lastEvent = (inboxId: string) =>
  sql`(select id from events where account_id = (select account_id from inboxes where id = ${inboxId})
    order by written_by desc, id desc limit 1)`;

/** Deletes up to `limit` events of an inbox that are not in line, with the log of their deliveries. Returns how many. */
export function removeEventsOfInbox(tx: Db, inboxId: string, limit: number): Promise<number> {
  return count(
    tx,
    sql`with old as materialized (
          select e.id from events e where e.inbox_id = ${inboxId} and e.id is distinct from ${lastEvent(inboxId)}
          and not exists (select from outbox where subject_id >= e.id and subject_id < e.id || '/')
          order by e.written_by, e.id limit ${limit}
        ),
        logged as (delete from deliveries where event_id = any(array(select id from old)))
        delete from events where id = any(array(select id from old)) returning 1`,
  );
}

/** Deletes a deleted inbox, once no other row of it is left. Returns its account, and what mail it had when it was deleted. */
export async function deleteEmptyInbox(
  tx: Db,
  inboxId: string,
): Promise<{ accountId: string; messages: number; bytes: number } | undefined> {
  const [inbox] = await query<{ accountId: string; messages: number; bytes: number }>(
    tx,
    sql`with gone as (
          delete from inboxes where id = ${inboxId} and deleted_at is not null
          and not exists (select from messages where inbox_id = ${inboxId})
          and not exists (select from events where inbox_id = ${inboxId} and id is distinct from ${lastEvent(inboxId)})
          returning *
        ),
        uncounted as (delete from counted_inboxes where inbox_id = any(array(select id from gone)))
        select account_id as "accountId", message_count - removed_count as messages, storage_bytes as bytes from gone`,
  );
  return inbox;
}

/** Frees addresses of deleted inboxes that are reserved no longer. */
export function removeFreeAddresses(tx: Db, now: Date, limit: number): Promise<number> {
  const free = sql`select username from addresses where held_until <= ${now} order by held_until limit ${limit}`;
  return count(
    tx,
    sql`delete from addresses where username = any(array(${free})) and held_until <= ${now} returning 1`,
  );
}

async function count(tx: Db, removal: SQL): Promise<number> {
  return (await query(tx, removal)).length;
}
