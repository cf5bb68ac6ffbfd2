import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";

export interface DayCounts {
  /** A day in UTC, as `2026-03-21`. */
  day: string;
  received: number;
  sent: number;
}

/** A span with fewer messages is read, which is faster than halving it further. */
const longSpan = 100;

export interface DaysToCount {
  accountId: string;
  /** The inboxes to count; undefined for all of the account. */
  inboxIds: readonly string[] | undefined;
  from: string;
  /** The last day. */
  to: string;
}

/**
 * Counts the messages in the living inboxes of an account by day. Days without a message are left out.
 *
 * The messages of an inbox and direction have numbers without gaps, in the order of their times. So the statement begins with the span of
 * all numbers and halves each span until its first and last message are of the same day, or until it is short: then it reads the span. So
 * it reads at most some 120 messages for each inbox and day, however many there are. A span outside the asked days is dropped.
 */
export function listMessagesByDay(db: Db, { accountId, inboxIds, from, to }: DaysToCount): Promise<DayCounts[]> {
  const asked = inboxIds === undefined ? sql`` : sql`and i.id = any(${arrayOf("text", inboxIds)})`;
  return query<DayCounts>(
    db,
    sql`with recursive spans (inbox_id, direction, first, last, first_day, last_day) as (
          select i.id, of_inbox.direction, 1, of_inbox.count, days.first, days.last
          from inboxes i
          cross join lateral (
            values ('inbound', i.inbound_count), ('outbound', i.message_count - i.inbound_count)
          ) of_inbox (direction, count)
          cross join lateral (${daysOf("i.id", "of_inbox.direction", "1", "of_inbox.count")}) days
          where i.account_id = ${accountId} and i.deleted_at is null and i.last_message_at >= ${from}::date at time zone 'UTC' ${asked}
          and days.last >= ${from}::date and days.first <= ${to}::date
          union all
          select s.inbox_id, s.direction, half.first, half.last, days.first, days.last
          from spans s
          cross join lateral (
            values (s.first, (s.first + s.last) / 2), ((s.first + s.last) / 2 + 1, s.last)
          ) half (first, last)
          cross join lateral (${daysOf("s.inbox_id", "s.direction", "half.first", "half.last")}) days
          where s.first_day < s.last_day and s.last - s.first >= ${longSpan} and days.last >= ${from}::date and days.first <= ${to}::date
        ),
        counted (day, direction, count) as (
          select first_day, direction, last - first + 1 from spans where first_day >= last_day
          union all
          select in_span.day, s.direction, in_span.count from spans s cross join lateral (
            select (m.created_at at time zone 'UTC')::date as day, count(*) as count from messages m
            where m.inbox_id = s.inbox_id and m.direction = s.direction and m.direction_seq between s.first and s.last group by 1
          ) in_span where s.first_day < s.last_day and s.last - s.first < ${longSpan}
        )
        select day::text, coalesce(sum(count) filter (where direction = 'inbound'), 0)::int8 as received,
          coalesce(sum(count) filter (where direction = 'outbound'), 0)::int8 as sent
        from counted where day between ${from}::date and ${to}::date group by day order by day`,
  );
}

/**
 * Selects the days of the first and the last message of a span, each by one look-up in the index `messages_direction_seq`. They are scalar
 * subselects, because the planner joins the table itself by a scan of all messages, once for each halving.
 */
function daysOf(inboxId: string, direction: string, first: string, last: string): SQL {
  const dayOf = (number: string) =>
    `(select (created_at at time zone 'UTC')::date from messages
      where inbox_id = ${inboxId} and direction = ${direction} and direction_seq = ${number})`;
  return sql.raw(`select ${dayOf(first)} as first, ${dayOf(last)} as last offset 0`);
}
