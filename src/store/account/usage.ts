import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { columnName, columnNames, columnsOf, replaced } from "../columns.ts";
import { lockNumber } from "../locks.ts";
import { andInReach, isReached } from "../reach.ts";
import { countedInboxes, usageDays } from "../schema.ts";

/** The ids up to which the counting of usage has looked. */
export interface CountingPlace {
  seenMessageId: string;
  seenInboxId: string;
  passedInboxId: string;
}

export interface CountingLease {
  holder: string;
  now: Date;
  leasedUntil: Date;
}

/** Takes or renews the lease on counting. Returns where counting goes on, or undefined while another process has the lease. */
export async function holdCounting(
  db: Db,
  { holder, now, leasedUntil }: CountingLease,
): Promise<CountingPlace | undefined> {
  const [held] = await query<CountingPlace>(
    db,
    sql`insert into usage_counting (id, holder, leased_until, seen_message_id, seen_inbox_id, passed_inbox_id)
        values (1, ${holder}, ${leasedUntil}, '', '', '')
        on conflict (id) do update set holder = excluded.holder, leased_until = excluded.leased_until
        where usage_counting.holder = excluded.holder or usage_counting.leased_until <= ${now}
        returning seen_message_id as "seenMessageId", seen_inbox_id as "seenInboxId", passed_inbox_id as "passedInboxId"`,
  );
  return held;
}

/** Writes where counting goes on, and up to when all mail is counted. */
export async function markCounted(
  db: Db,
  holder: string,
  { seenMessageId, seenInboxId, passedInboxId }: CountingPlace,
  countedUntil: Date,
): Promise<void> {
  await query(
    db,
    sql`update usage_counting set seen_message_id = ${seenMessageId}, seen_inbox_id = ${seenInboxId},
          passed_inbox_id = ${passedInboxId}, counted_until = ${countedUntil}
        where holder = ${holder}`,
  );
}

/** Ends the lease on counting now, so that the next process need not wait until it expires. */
export async function releaseCounting(db: Db, holder: string, now: Date): Promise<void> {
  await query(db, sql`update usage_counting set leased_until = ${now} where holder = ${holder}`);
}

/** Waits until no other transaction counts, and keeps others from counting until the end of this one. */
export async function lockCounting(tx: Db): Promise<void> {
  await query(tx, sql`select pg_advisory_xact_lock(${lockNumber("counting")})`);
}

export interface Uncounted {
  /** The messages and inboxes that were looked at. */
  messages: Looked;
  made: Looked;
  passed: Looked;
  /** Those of their inboxes with a revision that is not counted yet, and about how many messages of each are not counted. */
  inboxes: { id: string; behind: number }[];
}

export interface Looked {
  count: number;
  /** Null if there was none. */
  lastId: string | null;
  /** The id of the last one from before `settledBefore`: one with a lower id is unlikely to be committed later. */
  settledId: string | null;
}

export interface UncountedPage {
  after: CountingPlace;
  settledBefore: Date;
  limit: number;
  /** The most inboxes of the pass over all of them. */
  passLimit: number;
}

/**
 * Looks at the messages and the inboxes behind a place, and finds the inboxes that have something to count. Each look-up is lateral and has
 * a limit: a join might read all inboxes, with a plan that was made while there were few.
 */
export async function findUncounted(
  db: Db,
  { after, settledBefore, limit, passLimit }: UncountedPage,
): Promise<Uncounted> {
  const rows = await query<Record<"messages" | "made" | "passed", Looked> & { id: string | null; behind: number }>(
    db,
    sql`with recent as materialized (
          select id, inbox_id, created_at from messages where id > ${after.seenMessageId} order by id limit ${limit}
        ),
        made as materialized (select id, created_at from inboxes where id > ${after.seenInboxId} order by id limit ${limit}),
        passed as materialized (
          select id, created_at from inboxes where id > ${after.passedInboxId} order by id limit ${passLimit}
        )
        select ${lookedAt("recent", settledBefore)} as messages, ${lookedAt("made", settledBefore)} as made,
          ${lookedAt("passed", settledBefore)} as passed, uncounted.*
        from (select) one left join (
          select i.id, greatest(i.message_count - coalesce(c.seq, 0), 0) as behind
          from (select inbox_id as id from recent union select id from made union select id from passed) near
          cross join lateral (select id, message_count, revision from inboxes where id = near.id limit 1) i
          left join lateral (select seq, revision from counted_inboxes where inbox_id = near.id limit 1) c on true
          where c.revision is distinct from i.revision
        ) uncounted on true`,
  );
  const none = { count: 0, lastId: null, settledId: null };
  const { messages = none, made = none, passed = none } = rows[0] ?? {};
  const inboxes = rows.flatMap(({ id, behind }) => (id === null ? [] : [{ id, behind }]));
  return { messages, made, passed, inboxes };
}

function lookedAt(set: "recent" | "made" | "passed", settledBefore: Date): SQL {
  return sql`(select json_build_object('count', count(*), 'lastId', max(id),
    'settledId', max(id) filter (where created_at < ${settledBefore})) from ${sql.raw(set)})`;
}

/**
 * Counts up to `limit` messages of each inbox behind the last counted one, and each inbox that was not counted before, and adds the change
 * of their bytes to their accounts. The caller has locked the counting, and this statement begins after that lock: so it sees all earlier
 * counts. Returns the inboxes that have more messages than `limit`.
 */
export async function insertCounts(tx: Db, inboxIds: readonly string[], limit: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    tx,
    sql`with looked as materialized (
          select i.*, coalesce(c.seq, 0) as counted_seq, coalesce(c.storage_bytes, 0) as counted_bytes, c.seq is null as is_new
          from unnest(${arrayOf("text", inboxIds)}) as near (id)
          cross join lateral (select id, account_id, revision, (created_at at time zone 'UTC')::date as made_on,
            case when deleted_at is null then storage_bytes else 0 end as storage_bytes from inboxes where id = near.id limit 1) i
          left join lateral (select * from counted_inboxes where inbox_id = near.id limit 1) c on true
          where c.revision is distinct from i.revision
        ),
        mail as materialized (
          select l.account_id, l.id as inbox_id, m.seq, (m.created_at at time zone 'UTC')::date as day,
            (m.direction = 'inbound')::int as received, m.size_bytes
          from looked l cross join lateral (select seq, created_at, direction, size_bytes from messages
            where inbox_id = l.id and seq > l.counted_seq order by seq limit ${limit}) m
        ),
        reached as materialized (select inbox_id, max(seq) as seq, count(*) = ${limit} as has_more from mail group by inbox_id),
        added as (
          insert into usage_days (account_id, day, inbox_id, ${columnNames(usageDays, usageCounts)})
          select account_id, day, inbox_id, sum(received), sum(received_bytes), sum(sent), sum(sent_bytes), sum(made) from (
            select account_id, day, inbox_id, received, received * size_bytes as received_bytes, 1 - received as sent,
              (1 - received) * size_bytes as sent_bytes, 0 as made from mail
            union all select account_id, made_on, id, 0, 0, 0, 0, 1 from looked where is_new
          ) used group by account_id, day, inbox_id
          on conflict (account_id, day, inbox_id) do update set ${countsAdded}
        ),
        stored as (
          update accounts a set storage_bytes = a.storage_bytes + changed.bytes
          from (select account_id, sum(storage_bytes - counted_bytes)::int8 as bytes from looked group by account_id) changed
          where a.id = changed.account_id and changed.bytes <> 0
        ),
        counted as (
          insert into counted_inboxes (${columnNames(countedInboxes, ["inboxId", ...countedFields])})
          select l.id, coalesce(r.seq, l.counted_seq), l.storage_bytes, case when r.has_more then -1 else l.revision end
          from looked l left join reached r on r.inbox_id = l.id
          on conflict (inbox_id) do update set ${replaced(countedInboxes, countedFields)}
        )
        select inbox_id as id from reached where has_more`,
  );
  return rows.map(({ id }) => id);
}

const countedFields = ["seq", "storageBytes", "revision"] as const;
const usageCounts = ["received", "receivedBytes", "sent", "sentBytes", "inboxesCreated"] as const;

const countsAdded = sql.raw(
  Object.values(columnsOf(usageDays, usageCounts))
    .map(columnName)
    .map((name) => `${name} = usage_days.${name} + excluded.${name}`)
    .join(", "),
);

/**
 * Adds the rows of up to `limit` inboxes and days before `day` to the row of their account and day. Returns how many there were.
 */
export async function foldUsageBefore(tx: Db, day: string, limit: number): Promise<number> {
  const [folded] = await query<{ rows: number }>(
    tx,
    sql`with old as materialized (
          select account_id, day, inbox_id from usage_days where inbox_id <> '' and day < ${day}::date order by day limit ${limit}
        ),
        gone as (
          delete from usage_days u using old where u.account_id = old.account_id and u.day = old.day and u.inbox_id = old.inbox_id
          returning u.*
        ),
        added as (
          insert into usage_days (account_id, day, inbox_id, ${columnNames(usageDays, usageCounts)})
          select account_id, day, '', ${countsSummed} from gone group by account_id, day
          on conflict (account_id, day, inbox_id) do update set ${countsAdded}
        )
        select count(*) as rows from gone`,
  );
  return folded?.rows ?? 0;
}

const countsSummed = sql.raw(
  Object.entries(columnsOf(usageDays, usageCounts))
    .map(([field, column]) => `coalesce(sum(${columnName(column)}), 0)::int8 as "${field}"`)
    .join(", "),
);

export type UsageCounts = Record<(typeof usageCounts)[number], number>;

export interface AskedUsage {
  /** The whole account has the usage of deleted inboxes too, a part of it that of the living inboxes alone. */
  reach: Reach;
  /** Counts only this inbox; undefined for all within the reach. */
  inboxId: string | undefined;
  from: string;
  /** The last day. */
  to: string;
}

/** Sums the usage by day, oldest first. Days without usage are left out. */
export async function listUsageByDay(db: Db, asked: AskedUsage): Promise<(UsageCounts & { day: string })[]> {
  return query(
    db,
    sql`select day::text as day, ${countsSummed} from usage_days u where ${isAsked(asked)} group by u.day order by u.day`,
  );
}

/**
 * Sums the usage of all inboxes together, and then that of each of the `limit` inboxes with the most mail. The usage of days that are not
 * kept by inbox has "" as id.
 */
export async function listUsageByInbox(
  db: Db,
  asked: AskedUsage,
  limit: number,
): Promise<(UsageCounts & { inboxId: string | null })[]> {
  return query(
    db,
    sql`select inbox_id as "inboxId", ${countsSummed} from usage_days u where ${isAsked(asked)}
        group by grouping sets ((inbox_id), ())
        order by grouping(inbox_id) desc, sum(received + sent) desc, inbox_id limit ${limit + 1}`,
  );
}

/**
 * Sums the usage of all accounts together, and then by day, oldest first, or by account, the one with the most mail first. The first row has
 * no key.
 */
export async function listUsageOfAll(
  db: Db,
  { from, to, by, limit }: { from: string; to: string; by: "day" | "account"; limit: number },
): Promise<(UsageCounts & { key: string | null })[]> {
  const key = by === "day" ? sql`u.day` : sql`u.account_id`;
  const order = by === "day" ? sql`u.day` : sql`sum(received + sent) desc, u.account_id`;
  return query(
    db,
    sql`select ${key}::text as key, ${countsSummed} from usage_days u where u.day between ${from}::date and ${to}::date
        group by grouping sets ((${key}), ()) order by grouping(${key}) desc, ${order} limit ${limit + 1}`,
  );
}

/** Finds the instant up to which the usage of all accounts is counted. Undefined before the first count. */
export async function findCountedUntil(db: Db): Promise<Date | undefined> {
  const [counted] = await query<{ until: Date | null }>(db, sql`select counted_until as until from usage_counting`);
  return counted?.until ?? undefined;
}

function isAsked({ reach, inboxId, from, to }: AskedUsage): SQL {
  const asked = inboxId === undefined ? sql`` : sql`and u.inbox_id = ${inboxId}`;
  return sql`u.account_id = ${reach.accountId} and u.day between ${from}::date and ${to}::date ${asked} ${andInReach(sql`u.inbox_id`, reach)}`;
}

export interface CurrentUsage {
  inboxes: number;
  messages: number;
  storageBytes: number;
  /** All mail of the account up to this instant is counted. */
  countedUntil: Date;
}

/** Adds up the inboxes that are there now. An account has no mail from before its creation, so all of that is counted at any time. */
export async function findCurrentUsage(
  db: Db,
  { reach, inboxId }: Pick<AskedUsage, "reach" | "inboxId">,
): Promise<CurrentUsage | undefined> {
  const asked = inboxId === undefined ? sql`` : sql`and i.id = ${inboxId}`;
  const [current] = await query<CurrentUsage>(
    db,
    sql`select now.*, greatest(a.created_at, (select counted_until from usage_counting)) as "countedUntil"
        from accounts a cross join lateral (
          select count(*) as inboxes, coalesce(sum(message_count - removed_count), 0)::int8 as messages,
            coalesce(sum(storage_bytes), 0)::int8 as "storageBytes"
          from inboxes i where ${isReached(reach)} ${asked}
        ) now where a.id = ${reach.accountId}`,
  );
  return current;
}

/** The age of the newest instant up to which all mail is counted. It is 0 before the first count. */
export async function findUsageLagSeconds(db: Db, now: Date): Promise<number> {
  const [counted] = await query<{ until: Date | null }>(db, sql`select counted_until as until from usage_counting`);
  return counted?.until ? Math.max(0, (now.getTime() - counted.until.getTime()) / 1000) : 0;
}
