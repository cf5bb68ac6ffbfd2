import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";

/** Finds an account that was deleted before this instant and is not removed yet: the first one with an id after `after`. */
export async function findDeletedAccount(tx: Db, before: Date, after: string): Promise<string | undefined> {
  const [account] = await query<{ id: string }>(
    tx,
    sql`select id from accounts where deleted_at <= ${before} and id > ${after} order by id limit 1`,
  );
  return account?.id;
}

/** Marks inboxes of a deleted account as deleted, as their own deletion does. Their rows are then removed like those of other inboxes. */
export async function closeInboxes(
  tx: Db,
  { accountId, now, heldUntil, limit }: { accountId: string; now: Date; heldUntil: Date; limit: number },
): Promise<number> {
  const [closed] = await query<{ count: number }>(
    tx,
    sql`with gone as materialized (
          select id, aliases || username as usernames, domain_id from inboxes where account_id = ${accountId} and deleted_at is null
          order by id limit ${limit} for update
        ),
        held as (
          update addresses a set held_until = case when gone.domain_id is null then ${heldUntil}::timestamptz else ${now}::timestamptz end
          from gone where a.username = any(gone.usernames) and a.inbox_id = gone.id and a.held_until is null
        ),
        marked as (
          update inboxes set deleted_at = ${now}, revision = revision + 1 where id = any(array(select id from gone)) returning 1
        ),
        counted as (
          update accounts set inbox_count = inbox_count - (select count(*)::int from gone) where id = ${accountId}
        )
        select count(*) from marked`,
  );
  return closed?.count ?? 0;
}

/**
 * Removes rows of a deleted account that has no open inboxes, at most `limit` of each table, and the account itself once its inboxes are
 * erased. Its entries in the audit stay as long as others. Returns how many rows it removed.
 */
export async function removeRowsOfAccount(tx: Db, accountId: string, now: Date, limit: number): Promise<number> {
  const own = sql`account_id = ${accountId}`;
  const rows = (table: SQL, where = own) =>
    sql`delete from ${table} where id = any(array(select id from ${table} where ${where} order by id limit ${limit})) returning 1`;
  const removals = [
    rows(sql`endpoints`),
    sql`update domains set deleted_at = ${now} where ${own} and deleted_at is null returning 1`,
    rows(sql`suppressions`),
    rows(sql`rules`),
    sql`delete from policies where ${own} returning 1`,
    sql`delete from usage_days u using (select day, inbox_id from usage_days where ${own} limit ${limit}) old
        where u.account_id = ${accountId} and u.day = old.day and u.inbox_id = old.inbox_id returning 1`,
  ];
  const ending = [
    rows(sql`events`),
    rows(sql`grants`),
    rows(sql`api_keys`),
    sql`delete from accounts where id = ${accountId} and deleted_at is not null returning 1`,
  ];
  const removed = await removedBy(tx, removals);
  const [inbox] = await query(tx, sql`select from inboxes where ${own} limit 1`);
  // The account is there until the last row of its inboxes is erased, which takes a day.
  return removed > 0 || inbox !== undefined ? removed : removedBy(tx, ending);
}

/** Runs these removals in order, up to the first one that removes something. */
async function removedBy(tx: Db, removals: readonly SQL[]): Promise<number> {
  for (const removal of removals) {
    const { length } = await query(tx, removal);
    if (length > 0) return length;
  }
  return 0;
}
