import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { QuarantineReason } from "../../domain/policy.ts";
import { selected } from "../columns.ts";
import { isReached } from "../reach.ts";
import { quarantine } from "../schema.ts";
import { sharesReleased } from "./shares.ts";

export type QuarantinedMail = typeof quarantine.$inferSelect;

const quarantineFields = selected(quarantine, "q");

/** The quarantined mails `q` of living inboxes `i` within a reach. An expired one is not among them, even before it is removed. */
function inReach(reach: Reach, at: Date): SQL {
  return sql`quarantine q join inboxes i on i.id = q.inbox_id
    where q.account_id = ${reach.accountId} and ${isReached(reach)} and q.expires_at > ${at}`;
}

export interface QuarantinePage {
  reach: Reach;
  inboxId: string | undefined;
  reason: QuarantineReason | undefined;
  /** The last id of the page before this one; undefined for the first page. */
  before: string | undefined;
  limit: number;
  at: Date;
}

/** Lists quarantined mails within the reach, newest first. */
export function listQuarantined(db: Db, page: QuarantinePage): Promise<QuarantinedMail[]> {
  const conditions = [inReach(page.reach, page.at)];
  if (page.before !== undefined) conditions.push(sql`q.id < ${page.before}`);
  if (page.inboxId !== undefined) conditions.push(sql`q.inbox_id = ${page.inboxId}`);
  if (page.reason !== undefined) conditions.push(sql`q.reason = ${page.reason}`);
  return query(
    db,
    sql`select ${quarantineFields} from ${sql.join(conditions, sql` and `)} order by q.id desc limit ${page.limit}`,
  );
}

export async function findQuarantined(
  db: Db,
  { reach, id, at }: { reach: Reach; id: string; at: Date },
): Promise<QuarantinedMail | undefined> {
  const [found] = await query<QuarantinedMail>(
    db,
    sql`select ${quarantineFields} from ${inReach(reach, at)} and q.id = ${id}`,
  );
  return found;
}

/** Locks a quarantined mail until the end of the transaction, and returns it. Undefined if it is removed, or its inbox deleted. */
export async function lockQuarantined(tx: Db, id: string): Promise<QuarantinedMail | undefined> {
  const [locked] = await query<QuarantinedMail>(
    tx,
    sql`select ${quarantineFields} from quarantine q join inboxes i on i.id = q.inbox_id
        where q.id = ${id} and i.deleted_at is null for update of q`,
  );
  return locked;
}

/** Notes the message that a quarantined mail became. */
export async function markReleased(
  tx: Db,
  { id, messageId, threadId }: { id: string; messageId: string; threadId: string },
): Promise<void> {
  await query(tx, sql`update quarantine set message_id = ${messageId}, thread_id = ${threadId} where id = ${id}`);
}

/**
 * Removes quarantined mails, their events, and their bytes from the totals of their inboxes. It locks the inboxes first, as other removals
 * do, so that they cannot deadlock. A deleted inbox keeps its totals. An event stays in the log while it is in line, and if it is the last one
 * of its account, so that a reader of the log can continue from it. Its id is that of the mail but for the prefix. Returns the removed mails.
 */
export function removeQuarantined(
  tx: Db,
  ids: readonly string[],
): Promise<Pick<QuarantinedMail, "id" | "inboxId" | "reason">[]> {
  const asked = arrayOf("text", ids);
  return query(
    tx,
    sql`with held as materialized (
          select id from inboxes where id in (select inbox_id from quarantine where id = any(${asked})) order by id for update
        ),
        gone as (
          delete from quarantine where id = any(${asked}) and (select count(*) from held) >= 0
          returning id, inbox_id, reason, source_id, size_bytes
        ),
        ${sharesReleased(sql`select source_id, count(*) as holders from gone group by source_id`)},
        told as materialized (
          delete from events e where e.id = any(array(select 'evt_' || substr(id, 5) from gone))
          and not exists (select from outbox where subject_id >= e.id collate "C" and subject_id < (e.id || '/') collate "C")
          and exists (select from events later
            where later.account_id = e.account_id and (later.written_by, later.id) > (e.written_by, e.id))
          returning id
        ),
        delivered as (delete from deliveries where event_id = any(array(select id from told))),
        lighter as (
          update inboxes set storage_bytes = storage_bytes - of_inbox.bytes, revision = revision + 1
          from (select inbox_id, sum(size_bytes)::int8 as bytes from gone group by inbox_id) of_inbox
          where inboxes.id = of_inbox.inbox_id and inboxes.deleted_at is null
        )
        select id, inbox_id as "inboxId", reason from gone`,
  );
}

/** Lists expired quarantined mails. */
export async function listExpiredQuarantined(tx: Db, now: Date, limit: number): Promise<string[]> {
  return idsOf(
    await query(tx, sql`select id from quarantine where expires_at <= ${now} order by expires_at limit ${limit}`),
  );
}

/** Lists quarantined mails of an inbox. */
export async function listQuarantinedOf(tx: Db, inboxId: string, limit: number): Promise<string[]> {
  return idsOf(await query(tx, sql`select id from quarantine where inbox_id = ${inboxId} order by id limit ${limit}`));
}

/** Lists the oldest quarantined mails of one inbox that has more than `most`. */
export async function listSurplusQuarantined(tx: Db, most: number, limit: number): Promise<string[]> {
  return idsOf(
    await query(
      tx,
      sql`with full_inbox as materialized (
            select inbox_id, count(*) - ${most}::int as surplus from quarantine group by inbox_id having count(*) > ${most}::int limit 1
          )
          select q.id from full_inbox f cross join lateral (
            select id from quarantine where inbox_id = f.inbox_id order by id limit least(f.surplus, ${limit}::int)
          ) q`,
    ),
  );
}

function idsOf(rows: { id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
