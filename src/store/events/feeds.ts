import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type LogPosition, startOfLog } from "../../domain/events/log-position.ts";
import type { EventProperties } from "../../domain/events/subscription.ts";
import { externalIdOfEvent } from "./event-content.ts";
import { numberOf } from "./event-log.ts";

/** The position up to which an account's log has been read. */
export interface FeedHead extends LogPosition {
  accountId: string;
}

/** An event with its position and the fields that subscriptions filter by, without its data. */
export type FeedEvent = LogPosition & EventProperties & { accountId: string };

/** The select list of a `FeedEvent`, from an event `e` and its message `m`, if it has one. */
const feedColumns = sql`e.account_id as "accountId", e.id, e.written_by::text as "writtenBy", e.type,
  e.inbox_id as "inboxId", ${externalIdOfEvent} as "externalId", m.automated is not null as "isAutomated"`;

export interface NewEvents {
  /** The new events, at most `limit` for each account, in the order of the log. */
  events: FeedEvent[];
  /** The ids of accounts with events that the log does not show yet, because an older transaction still runs. */
  heldBack: string[];
}

/**
 * Lists the events after each of these heads, for all accounts in one statement. The last event of an account shows whether events are held
 * back. An "exists" would be slow: the planner expects many such events, and reads the whole log of an account that has none. Events of
 * deleted inboxes are included, but `listEventsByIds` does not find those about messages.
 */
export async function listNewEvents(db: Db, heads: readonly FeedHead[], limit: number): Promise<NewEvents> {
  const asked = JSON.stringify(heads);
  const rows = await query<{ askedId: string; isHeldBack: boolean; id: string | null } & Omit<FeedEvent, "id">>(
    db,
    sql`select h."accountId" as "askedId", held.back as "isHeldBack", ${feedColumns}
        from json_to_recordset(${asked}::json) as h ("accountId" text, id text, "writtenBy" text)
        cross join lateral (
          select coalesce((
            select written_by from events where account_id = h."accountId" order by written_by desc, id desc limit 1
          ) >= event_log_horizon(), false) as back
        ) held
        left join lateral (
          select * from events where account_id = h."accountId" and written_by < event_log_horizon()
          and (written_by, id) > (${numberOf(sql`h."writtenBy"`)}, h.id collate "C")
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

/** Lists the last `limit` events of an account's log, oldest first. */
export async function listLastOfLog(db: Db, accountId: string, limit: number): Promise<FeedEvent[]> {
  const last = await query<FeedEvent>(
    db,
    sql`select ${feedColumns} from (
          select * from events where account_id = ${accountId} and written_by < event_log_horizon()
          order by written_by desc, id desc limit ${limit}
        ) e left join messages m on m.id = e.message_id order by e.written_by desc, e.id desc`,
  );
  return last.toReversed();
}

/** Finds the position of the last event that an account's log shows; the start of the log if there is none. */
export async function findEndOfLog(db: Db, accountId: string): Promise<LogPosition> {
  const [last] = await query<LogPosition>(
    db,
    sql`select id, written_by::text as "writtenBy" from events
        where account_id = ${accountId} and written_by < event_log_horizon()
        order by written_by desc, id desc limit 1`,
  );
  return last ?? startOfLog;
}

/** The age in seconds of the oldest event that the log does not show yet, because an older transaction still runs; 0 if there is none. */
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
