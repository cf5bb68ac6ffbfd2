import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type LogPlace, startOfLog } from "../../domain/events/log-place.ts";
import type { Tellable } from "../../domain/events/subscription.ts";

/** How far an account's log has been read. */
export interface FeedHead extends LogPlace {
  accountId: string;
}

/** An event by its place, with what subscriptions go by and nothing of what it tells. */
export type FeedEvent = LogPlace & Tellable & { accountId: string };

/** Of an event `e` and its message `m`, if it tells of one. */
const ofFeed = sql`e.account_id as "accountId", e.id, e.written_by::text as "writtenBy", e.type,
  e.inbox_id as "inboxId", m.automated is not null as "isAutomated"`;

export interface FeedNews {
  /** In the order of the log, at most `limit` of each account. */
  events: FeedEvent[];
  /** Accounts with events that are there and can't be shown yet, since an older transaction still runs. */
  heldBack: string[];
}

/**
 * What has come behind each of these heads, of all accounts in one statement: each account's index is entered at its own place.
 * Whether some are held back is asked of the last event alone: asked whether there is one, the planner expects many and reads the
 * whole log where there is none. Events of deleted inboxes are among them: who writes them out finds nothing to tell.
 */
export async function listFeedNews(db: Db, heads: readonly FeedHead[], limit: number): Promise<FeedNews> {
  const asked = JSON.stringify(heads);
  const rows = await query<{ askedId: string; isHeldBack: boolean; id: string | null } & Omit<FeedEvent, "id">>(
    db,
    sql`select h."accountId" as "askedId", held.back as "isHeldBack", ${ofFeed}
        from json_to_recordset(${asked}::json) as h ("accountId" text, id text, "writtenBy" text)
        cross join lateral (
          select coalesce((
            select written_by from events where account_id = h."accountId" order by written_by desc, id desc limit 1
          ) >= event_log_horizon(), false) as back
        ) held
        left join lateral (
          select * from events where account_id = h."accountId" and written_by < event_log_horizon()
          and (written_by, id) > (h."writtenBy"::xid8, h.id collate "C")
          order by written_by, id limit ${limit}
        ) e on true
        left join messages m on m.id = e.message_id
        order by h."accountId", e.written_by, e.id`,
  );
  return {
    events: rows.filter((row): row is FeedEvent & (typeof rows)[number] => row.id !== null),
    heldBack: [...new Set(rows.flatMap(({ askedId, isHeldBack }) => (isHeldBack ? [askedId] : [])))],
  };
}

/** The last events of an account's log, in its order. */
export async function listLastOfLog(db: Db, accountId: string, limit: number): Promise<FeedEvent[]> {
  const last = await query<FeedEvent>(
    db,
    sql`select ${ofFeed} from (
          select * from events where account_id = ${accountId} and written_by < event_log_horizon()
          order by written_by desc, id desc limit ${limit}
        ) e left join messages m on m.id = e.message_id order by e.written_by desc, e.id desc`,
  );
  return last.toReversed();
}

/** Where an account's log ends now. */
export async function findEndOfLog(db: Db, accountId: string): Promise<LogPlace> {
  const [last] = await query<LogPlace>(
    db,
    sql`select id, written_by::text as "writtenBy" from events
        where account_id = ${accountId} and written_by < event_log_horizon()
        order by written_by desc, id desc limit 1`,
  );
  return last ?? startOfLog;
}

/** How long the event that has waited longest for an older transaction has been there; 0 where none waits. */
export async function findLogLagSeconds(db: Db): Promise<number> {
  const [lag] = await query<{ seconds: number }>(
    db,
    sql`select coalesce(extract(epoch from clock_timestamp() - min(held.occurred_at)), 0)::float8 as seconds
        from accounts cross join lateral (
          select occurred_at from events
          where account_id = accounts.id and written_by >= event_log_horizon() order by written_by, id limit 1
        ) held`,
  );
  return Math.max(0, lag?.seconds ?? 0);
}
