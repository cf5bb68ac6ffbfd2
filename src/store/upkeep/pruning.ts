import { type SQL, sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import { lockNumber } from "../locks.ts";
import { sharesReleased } from "../mail/shares.ts";

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
  { before, after, limit }: OldEvents,
): Promise<{ removed: number; prunedTo: PrunedTo | undefined }> {
  const [step] = await query<{ removed: number; occurredAt: Date | null; id: string | null }>(
    tx,
    sql`with looked as materialized (
          select id, account_id, written_by, occurred_at from events
          where occurred_at < ${before} and (occurred_at, id) > (${after?.occurredAt ?? new Date(0)}, ${after?.id ?? ""})
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

/** Finds the first deleted inbox with an id above `after` that still has rows of mail (`message_count` is not 0 yet). */
export async function findInboxToEmpty(tx: Db, deletedBefore: Date, after: string): Promise<string | undefined> {
  const [inbox] = await query<{ id: string }>(
    tx,
    sql`select id from inboxes where deleted_at < ${deletedBefore} and message_count > 0 and id > ${after} order by id limit 1`,
  );
  return inbox?.id;
}

/**
 * Deletes up to `limit` messages of an inbox, with their rows in other tables and the sources of their reports, which nothing else uses.
 * Any other source is deleted with the last message that uses it or has an attachment in it. A message that still waits to be relayed
 * stays, since it was accepted. Returns how many messages were deleted.
 */
export function removeMessages(tx: Db, inboxId: string, limit: number): Promise<number> {
  return count(
    tx,
    sql`with gone as materialized (
          select id, seq, source_id from messages where inbox_id = ${inboxId} and status <> 'pending' and ${isOver}
          order by seq limit ${limit}
        ),
        held as materialized (
          select source_id, id from gone where source_id is not null
          union select a.source_id, a.message_id from gone join attachments a on a.message_id = gone.id
        ),
        ${sharesReleased(sql`select source_id, count(*) as holders from held group by source_id`)},
        received as (delete from recipients where message_id = any(array(select id from gone))),
        named as (delete from message_names where message_id = any(array(select id from gone))),
        attached as (delete from attachments where message_id = any(array(select id from gone))),
        reported as (delete from reports where message_id = any(array(select id from gone)) returning source_id),
        unreported as (delete from source_chunks
          where source_id = any(array(select source_id from reported where source_id is not null))),
        found as (delete from message_search s using gone where s.inbox_id = ${inboxId} and s.seq = gone.seq)
        delete from messages where id = any(array(select id from gone)) returning 1`,
  );
}

/** Whether a message has no rows in the outbox, whose ids begin with its id. A sent message to several recipients may still have some. */
const isOver = sql.raw(
  `not exists (select from outbox o where o.subject_id >= messages.id and o.subject_id < messages.id || '/')`,
);

/** Deletes up to about `limit` other rows of an inbox, once its messages are deleted. Returns how many. */
export async function removeInboxRows(tx: Db, inboxId: string, limit: number): Promise<number> {
  // Found by account and inbox, because suppressions have no index that begins with the inbox.
  const ofAccount = sql`account_id = (select account_id from inboxes where id = ${inboxId}) and inbox_id = ${inboxId}`;
  const suppressed = sql`select id from suppressions where ${ofAccount} limit ${limit}`;
  let removed = await count(tx, sql`delete from suppressions where id = any(array(${suppressed})) returning 1`);
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
  { table: "correspondents", key: "address" },
  { table: "awaited_parents", key: "message_id_hash" },
  { table: "cold_sends", key: "recipient" },
  { table: "message_search", key: "seq" },
];

/** Marks an inbox as empty, unless it still has messages that wait to be relayed. */
export async function markInboxEmpty(tx: Db, inboxId: string): Promise<void> {
  await query(
    tx,
    sql`update inboxes set message_count = 0, revision = revision + 1 where id = ${inboxId}
        and not exists (select from messages where inbox_id = ${inboxId})`,
  );
}

/** Deletes empty inboxes whose address is free again, with the row of the address. */
export function removeInboxes(tx: Db, now: Date, limit: number): Promise<number> {
  return count(
    tx,
    sql`with gone as materialized (
          select i.id, i.account_id, i.username from inboxes i left join addresses a on a.username = i.username and a.inbox_id = i.id
          where i.deleted_at is not null and i.message_count = 0 and (a.username is null or a.held_until <= ${now})
          order by i.deleted_at limit ${limit}
        ),
        -- An inbox that never had mail may have suppressions, because removeInboxRows does not run for it.
        unsuppressed as (delete from suppressions s using gone where s.account_id = gone.account_id and s.inbox_id = gone.id),
        uncounted as (delete from counted_inboxes where inbox_id = any(array(select id from gone))),
        freed as (
          delete from addresses a using gone
          where a.username = gone.username and a.inbox_id = gone.id and a.held_until <= ${now}
        )
        delete from inboxes where id = any(array(select id from gone)) returning 1`,
  );
}

async function count(tx: Db, removal: SQL): Promise<number> {
  return (await query(tx, removal)).length;
}
