import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import { mostSuppressions, type SuppressedAddress, type SuppressionReason } from "../../domain/send/suppressed.ts";
import { allFields, columnNames, fieldsOf, replaced, selected } from "../columns.ts";
import { recordSet } from "../rows.ts";
import { suppressions } from "../schema.ts";

export type Suppression = typeof suppressions.$inferSelect;

const suppressionFields = selected(suppressions, "s");
const written = allFields(suppressions);
/** All of a row but what it is found by. */
const renewed = written.filter((field) => !["accountId", "address", "inboxId"].includes(field));

const asJson = sql.raw(
  `json_build_object('id', s.id, 'address', s.address, 'reason', s.reason, 'expiresAt', s.expires_at)`,
);
const ofAsked = [sql.raw("asked.account_id"), sql.raw("asked.inbox_id"), sql.raw("asked.address")] as const;

/** The suppression of whom an `asked` send goes to, which has `account_id`, `inbox_id` and `address`; null for none. */
export function suppressionOfAsked(at: Date): SQL {
  return sql`(select ${asJson} from (${suppressionOf(...ofAsked, at)}) s)`;
}

/** Of each that is asked, in their order. */
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
          ${texts((each) => JSON.stringify(each.addresses))}) with ordinality as send (account_id, inbox_id, addresses, place)
        order by place`,
  );
  return rows.map(({ suppressed }) => suppressedOf(suppressed));
}

/** JSON has no instants. */
export type SuppressedRow = Omit<SuppressedAddress, "expiresAt"> & { expiresAt: string | null };

export function suppressedOf(rows: readonly SuppressedRow[] | null): SuppressedAddress[] {
  return (rows ?? []).map((one) => ({ ...one, expiresAt: one.expiresAt === null ? null : new Date(one.expiresAt) }));
}

/** The one that keeps mail of an inbox from an address: that of the account before its own. */
export function suppressionOf(accountId: SQL, inboxId: SQL, address: SQL, at: Date): SQL {
  return sql`select * from suppressions s where s.account_id = ${accountId} and s.address = ${address}
    and s.inbox_id in ('', ${inboxId}) and ${inForce(at)} order by s.inbox_id limit 1`;
}

/** What has run out never counts, removed or not. */
function inForce(at: Date): SQL {
  return sql`(s.expires_at is null or s.expires_at > ${at})`;
}

export interface SuppressionPage {
  accountId: string;
  address: string | undefined;
  inboxId: string | undefined;
  reason: SuppressionReason | undefined;
  /** The last one that was shown. */
  before: string | undefined;
  limit: number;
  at: Date;
}

/** The newest first. */
export function listSuppressions(db: Db, page: SuppressionPage): Promise<Suppression[]> {
  const conditions = [sql`s.account_id = ${page.accountId} and ${inForce(page.at)}`];
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
  { accountId, id, at }: { accountId: string; id: string; at: Date },
): Promise<Suppression | undefined> {
  const [found] = await query<Suppression>(
    db,
    sql`select ${suppressionFields} from suppressions s where s.id = ${id} and s.account_id = ${accountId} and ${inForce(at)}`,
  );
  return found;
}

/** The one of this very address and inbox, or account. */
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

/** Up to one more than there may be. Exact as long as who adds some holds the lock of the account. */
export async function countSuppressions(tx: Db, accountId: string, at: Date): Promise<number> {
  const [counted] = await query<{ count: number }>(
    tx,
    sql`select count(*) from (select from suppressions s where s.account_id = ${accountId} and ${inForce(at)}
          limit ${mostSuppressions + 1}) counted`,
  );
  return counted?.count ?? 0;
}

/**
 * Adds those that are not there; one that has run out is made anew. In the order of addresses, so that two batches can't wait for
 * each other. Answers the ids of those that were added.
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

/** Which of these are there already. */
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
 * What the service adds by itself, of a set of rows called `row` that has the fields of suppressions, as part of a statement. It
 * never weakens what is there: a bounce may become another reason, and the end only later or none. Answers `id`, which is
 * the row's own where it was added.
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

/** False where it is not there. */
export async function removeSuppression(
  db: Db,
  { accountId, id, at }: { accountId: string; id: string; at: Date },
): Promise<Suppression | undefined> {
  const [removed] = await query<Suppression>(
    db,
    sql`delete from suppressions s where s.id = ${id} and s.account_id = ${accountId} and ${inForce(at)}
        returning ${suppressionFields}`,
  );
  return removed;
}

/** Those that have run out, `limit` at most. Answers how many went. */
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
