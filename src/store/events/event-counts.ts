import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";
import { isEventReached } from "../reach.ts";
import { rowOf } from "./event-log.ts";

/** The events of one minute by type. */
export interface MinuteCounts {
  /** The number of the minute, counted from 1970. */
  minute: number;
  received: number;
  sent: number;
  failed: number;
  bounced: number;
}

export interface CountedEvents {
  minutes: MinuteCounts[];
  /** The number of events that were looked at, of any type: less than `limit` at the end of the log. */
  looked: number;
  /** The positions of the first and the last event that were looked at; null if there was none. */
  first: LogPosition | null;
  last: LogPosition | null;
  /** The time of the newest event that was looked at, whatever its position; null if there was none. */
  newestMs: number | null;
}

export interface EventsToCount {
  reach: Reach;
  limit: number;
  /** Counts the first events after this position, or the last ones before it. Undefined: the last ones of the log. */
  from: { after: LogPosition } | { before: LogPosition } | undefined;
}

const mailCounts = sql`count(*) filter (where type = 'message.received') as received,
  count(*) filter (where type = 'message.sent') as sent,
  count(*) filter (where type = 'message.failed') as failed,
  count(*) filter (where type = 'message.bounced') as bounced`;

/** Counts the events within the reach in a piece of an account's log, by minute. Events of deleted inboxes count too. */
export async function countEvents(db: Db, { reach, limit, from }: EventsToCount): Promise<CountedEvents> {
  const isForward = from !== undefined && "after" in from;
  const order = sql.raw(isForward ? "asc" : "desc");
  const [counted] = await query<CountedEvents>(
    db,
    sql`with looked as materialized (
          select id, written_by, type, occurred_at, ${isEventReached(reach)} as is_reached from events e
          where account_id = ${reach.accountId} and written_by < event_log_horizon() ${from === undefined ? sql`` : beyond(from)}
          order by written_by ${order}, id ${order} limit ${limit}
        ),
        by_minute as (
          select extract(epoch from date_bin('1 minute', occurred_at, 'epoch')) / 60 as minute, ${mailCounts} from looked
          where is_reached and type in ('message.received', 'message.sent', 'message.failed', 'message.bounced')
          group by date_bin('1 minute', occurred_at, 'epoch')
        )
        select coalesce((select json_agg(by_minute) from by_minute), '[]') as minutes,
          (select count(*) from looked) as looked, (${endOfPiece("asc")}) as first, (${endOfPiece("desc")}) as last,
          (select extract(epoch from max(occurred_at)) * 1000 from looked)::float8 as "newestMs"`,
  );
  return counted ?? { minutes: [], looked: 0, first: null, last: null, newestMs: null };
}

function beyond(from: { after: LogPosition } | { before: LogPosition }): SQL {
  return "after" in from
    ? sql`and (written_by, id) > ${rowOf(from.after)}`
    : sql`and (written_by, id) < ${rowOf(from.before)}`;
}

function endOfPiece(order: "asc" | "desc"): SQL {
  return sql`select json_build_object('id', id, 'writtenBy', written_by::text) from looked
    order by written_by ${sql.raw(order)}, id ${sql.raw(order)} limit 1`;
}
