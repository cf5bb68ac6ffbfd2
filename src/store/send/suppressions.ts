import { type Placeholder, type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { mostSuppressions, type SuppressedAddress, type SuppressionReason } from "../../domain/send/suppressed.ts";
import { allFields, columnNames, fieldsOf, replaced, selected } from "../columns.ts";
import { andInReach } from "../reach.ts";
import { recordSet } from "../rows.ts";
import { suppressions } from "../schema.ts";

export type Suppression = typeof suppressions.$inferSelect;

const suppressionFields = selected(suppressions, "s");
const written = allFields(suppressions);
/** The fields that change when an expired suppression is replaced: all except for those of the key. */
const renewed = written.filter((field) => !["accountId", "address", "inboxId"].includes(field));

const asJson = sql.raw(
  `json_build_object('id', s.id, 'address', s.address, 'reason', s.reason, 'expiresAt', s.expires_at)`,
);
const ofAsked = [sql.raw("asked.account_id"), sql.raw("asked.inbox_id"), sql.raw("asked.address")] as const;

/** Selects as JSON the suppression of a send from a set `asked` with `account_id`, `inbox_id` and `address`; null if there is none. */
export function suppressionOfAsked(at: Date): SQL {
  return sql`(select ${asJson} from (${suppressionOf(...ofAsked, at)}) s)`;
}

/** Lists the suppressed addresses of each send: one list for each element of `asked`, in its order. */
export async function listSuppressed(
  db: Db,
  asked: readonly { accountId: string; inboxId: string; addresses: readonly string[] }[],
  at: Date,
): Promise<SuppressedAddress[][]> {
  const texts = (of: (each: (typeof asked)[number]) => string) => arrayOf("text", asked.map(of));
  const rows = await query<{ suppressed: SuppressedRow[] | null }>(
    db,
    sql`select (select json_agg(${asJson}) from json_array_elements_text(send.addresses::json) as each (address)
          cross join lateral (${suppressionOf(sql`send.account_id`, sql`send.inbox_id`, sql`each.address`, at)}) s) as suppressed
        from unnest(${texts((each) => each.accountId)}, ${texts((each) => each.inboxId)},
          ${texts((each) => JSON.stringify(each.addresses))}) with ordinality as send (account_id, inbox_id, addresses, number)
        order by number`,
  );
  return rows.map(({ suppressed }) => suppressedOf(suppressed));
}

/** A suppression as it comes in JSON, which has no dates. */
export type SuppressedRow = Omit<SuppressedAddress, "expiresAt"> & { expiresAt: string | null };

export function suppressedOf(rows: readonly SuppressedRow[] | null): SuppressedAddress[] {
  return (rows ?? []).map((one) => ({ ...one, expiresAt: one.expiresAt === null ? null : new Date(one.expiresAt) }));
}

/** Selects the suppression of an address for an inbox. If there are two, this is the one for the whole account. */
export function suppressionOf(accountId: SQL, inboxId: SQL, address: SQL, at: Date | Placeholder): SQL {
  return sql`select * from suppressions s where s.account_id = ${accountId} and s.address = ${address}
    and s.inbox_id in ('', ${inboxId}) and ${inForce(at)} order by s.inbox_id limit 1`;
}

/** Whether a suppression `s` is in force. An expired one never is, even before it is removed. */
function inForce(at: Date | Placeholder): SQL {
  return sql`(s.expires_at is null or s.expires_at > ${at})`;
}

/** Whether a suppression `s` is within a reach. One for the whole account is within that of the whole account alone. */
function isInReach(reach: Reach): SQL {
  return sql`s.account_id = ${reach.accountId} ${andInReach(sql`s.inbox_id`, reach)}`;
}

export interface SuppressionPage {
  reach: Reach;
  address: string | undefined;
  inboxId: string | undefined;
  reason: SuppressionReason | undefined;
  /** The last id of the page before this one; undefined for the first page. */
  before: string | undefined;
  limit: number;
  at: Date;
}

/** Lists the suppressions within the reach that are in force, newest first. */
export function listSuppressions(db: Db, page: SuppressionPage): Promise<Suppression[]> {
  const conditions = [sql`${isInReach(page.reach)} and ${inForce(page.at)}`];
  if (page.before !== undefined) conditions.push(sql`s.id < ${page.before}`);
  if (page.address !== undefined) conditions.push(sql`s.address = ${page.address}`);
  if (page.inboxId !== undefined) conditions.push(sql`s.inbox_id = ${page.inboxId}`);
  if (page.reason !== undefined) conditions.push(sql`s.reason = ${page.reason}`);
  return query(
    db,
    sql`select ${suppressionFields} from suppressions s where ${sql.join(conditions, sql` and `)}
        order by s.id desc limit ${page.limit}`,
  );
}

export async function findSuppression(
  db: Db,
  { reach, id, at }: { reach: Reach; id: string; at: Date },
): Promise<Suppression | undefined> {
  const [found] = await query<Suppression>(
    db,
    sql`select ${suppressionFields} from suppressions s where s.id = ${id} and ${isInReach(reach)} and ${inForce(at)}`,
  );
  return found;
}

/** Finds the suppression of an address for exactly this inbox, or for the whole account if `inboxId` is "". */
export async function findSuppressionOf(
  db: Db,
  { accountId, address, inboxId }: Pick<Suppression, "accountId" | "address" | "inboxId">,
): Promise<Suppression | undefined> {
  const [found] = await query<Suppression>(
    db,
    sql`select ${suppressionFields} from suppressions s
        where s.account_id = ${accountId} and s.address = ${address} and s.inbox_id = ${inboxId}`,
  );
  return found;
}

/**
 * Counts the suppressions of an account, up to one more than the limit. The caller has locked the account, so that those of concurrent
 * requests count too.
 */
export async function countSuppressions(tx: Db, accountId: string, at: Date): Promise<number> {
  const [counted] = await query<{ count: number }>(
    tx,
    sql`select count(*) from (select from suppressions s where s.account_id = ${accountId} and ${inForce(at)}
          limit ${mostSuppressions + 1}) counted`,
  );
  return counted?.count ?? 0;
}

/**
 * Inserts suppressions that do not exist yet, and replaces expired ones. They are written in the order of addresses, so that two batches
 * cannot deadlock. Returns the ids of the inserted ones.
 */
export async function insertSuppressions(tx: Db, rows: readonly Suppression[], at: Date): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const added = await query<{ id: string }>(
    tx,
    sql`insert into suppressions as s (${columnNames(suppressions, written)})
        select ${fieldsOf("row", written)} from ${recordSet(suppressions, rows, written)}
        order by row."accountId", row.address, row."inboxId"
        on conflict (account_id, address, inbox_id) do update set ${replaced(suppressions, renewed)}
        where s.expires_at <= ${at} returning id`,
  );
  return new Set(added.map(({ id }) => id));
}

/** Counts how many of these suppressions exist already and are in force. */
export async function countKnownSuppressions(tx: Db, rows: readonly Suppression[], at: Date): Promise<number> {
  const [counted] = await query<{ count: number }>(
    tx,
    sql`select count(*) from ${recordSet(suppressions, rows, ["accountId", "address", "inboxId"])}
        cross join lateral (select from suppressions s where s.account_id = row."accountId" and s.address = row.address
          and s.inbox_id = row."inboxId" and ${inForce(at)} limit 1) known`,
  );
  return counted?.count ?? 0;
}

/**
 * Part of a statement: inserts suppressions that the service makes by itself, from a set called `row` with the fields of suppressions.
 * An expired suppression is replaced. One in force is never weakened: only the reason `bounce` may change to another, and the end may only
 * become later or none. Returns the `id` of each suppression, which is that of the given row only if the suppression is new.
 */
export function automaticSuppressions(rows: SQL): SQL {
  return sql`insert into suppressions as s (${columnNames(suppressions, written)})
    select ${fieldsOf("row", written)} from ${rows} order by row."accountId", row.address, row."inboxId"
    on conflict (account_id, address, inbox_id) do update set
      id = case when ${isOver} then excluded.id else s.id end,
      detail = case when ${isOver} or ${isGraver} then excluded.detail else s.detail end,
      message_id = case when ${isOver} or ${isGraver} then excluded.message_id else s.message_id end,
      created_at = case when ${isOver} then excluded.created_at else s.created_at end,
      reason = case when ${isOver} or ${isGraver} then excluded.reason else s.reason end,
      expires_at = case when ${isOver} then excluded.expires_at
        when s.expires_at is null or excluded.expires_at is null then null
        else greatest(s.expires_at, excluded.expires_at) end
    returning id`;
}

const isOver = sql`(s.expires_at <= excluded.created_at)`;
const isGraver = sql`(s.reason = 'bounce' and excluded.reason <> 'bounce')`;

/** The fields of the rows that `automaticSuppressions` takes. */
export const suppressionColumns = written;

/** Removes a suppression by its id, and returns it. Undefined if there is none, or if it has expired. */
export async function removeSuppression(
  db: Db,
  { reach, id, at }: { reach: Reach; id: string; at: Date },
): Promise<Suppression | undefined> {
  const [removed] = await query<Suppression>(
    db,
    sql`delete from suppressions s where s.id = ${id} and ${isInReach(reach)} and ${inForce(at)}
        returning ${suppressionFields}`,
  );
  return removed;
}

/** Removes at most `limit` expired suppressions. Returns how many. */
export async function removeExpiredSuppressions(tx: Db, now: Date, limit: number): Promise<number> {
  const over = await query<{ id: string }>(
    tx,
    sql`select id from suppressions where expires_at <= ${now} order by expires_at limit ${limit}`,
  );
  if (over.length === 0) return 0;
  const ids = arrayOf(
    "text",
    over.map(({ id }) => id),
  );
  const removed = await query(
    tx,
    sql`delete from suppressions where id = any(${ids}) and expires_at <= ${now} returning 1`,
  );
  return removed.length;
}

/** A suppression that follows from an attempt, with the id of its event. */
export interface NewSuppression extends Omit<Suppression, "messageId" | "accountId"> {
  eventId: string;
}

/** `suppression`: a new one, which follows from this attempt. `suppressedBy`: the reason of an earlier one, which prevented the attempt. */
export type Suppressing = { suppression?: NewSuppression | undefined; suppressedBy?: SuppressionReason | undefined };

/**
 * Parts of the statement that settles attempts. `settled` is a set with `account_id`, `message_id` and `suppression` as JSON. `found` has
 * its suppressions, and `suppressed` inserts them and has the ids of those that are in force afterwards.
 */
export function foundSuppressions(settled: SQL): SQL {
  return sql`found as materialized (
      select found.*, settled.account_id as "accountId", m.id as "messageId", m.inbox_id as "ofInbox", m.thread_id as "ofThread",
        m.provider_message_id as "providerMessageId"
      from ${settled} settled join messages m on m.id = settled.message_id
      cross join lateral jsonb_to_record(settled.suppression) as found (id text, address text, "inboxId" text, reason text,
        detail text, "createdAt" timestamptz, "expiresAt" timestamptz, "eventId" text)
      where settled.suppression is not null
    ),
    suppressed as (${automaticSuppressions(sql`(select distinct on ("accountId", address, "inboxId") * from found) row`)})`;
}

/** The ids of the suppressions that are new. */
export const addedSuppressions = sql`(select array_agg(id) from found where id in (select id from suppressed))`;

/** The events of the new suppressions, as rows for `new_event`. */
export const suppressionEvents = sql`select "eventId" as id, "accountId" as account_id, "ofInbox" as inbox_id,
    "ofThread" as thread_id, "messageId" as message_id, 'suppression.added' as type, "createdAt" as occurred_at,
    jsonb_build_object('providerMessageId', "providerMessageId", 'suppression',
      jsonb_build_object('id', id, 'address', address, 'inboxId', nullif("inboxId", ''), 'reason', reason,
        'expiresAt', to_char("expiresAt" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) as data, false as is_automated
  from found where id in (select id from suppressed)`;
