import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { everyEvent } from "../../domain/events/event-types.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";
import type { Subscription } from "../../domain/events/subscription.ts";
import { isEventReached } from "../reach.ts";
import {
  contentFields,
  contentJoins,
  type EventContent,
  externalIdOfEvent,
  isOfMail,
  isTellable,
  type Nullable,
} from "./event-content.ts";
import { rowOf } from "./event-log.ts";

/** An event of the log. If its text is long, it has the size of the text in octets instead (`longBody`). */
export type ListedEvent = EventContent & { id: string; accountId: string };

/** The order of a page, and where it begins: after a position, or before one. Without `before` it begins at the end of the log. */
export type LogDirection = { order: "asc"; after: LogPosition } | { order: "desc"; before: LogPosition | undefined };

/** A page of the log. */
export interface EventPage extends Subscription {
  accountId: string;
  from: LogDirection;
  limit: number;
  /** The most events to read, including those that the subscription filters out. Undefined: reads until the page is full. */
  lookAt: number | undefined;
}

export interface ListedEvents {
  events: ListedEvent[];
  /** The id of the last event that was read; null if there was none, or if `lookAt` was not given. */
  lookedTo: string | null;
  /** Whether `lookAt` events were read, so that the log may have more events. */
  isBounded: boolean;
}

/** Finds the position of an event, if the log shows the event within the reach. */
export async function findEvent(db: Db, reach: Reach, id: string): Promise<LogPosition | undefined> {
  const [event] = await query<LogPosition>(
    db,
    sql`select e.id, e.written_by::text as "writtenBy" from events e
        where e.id = ${id} and ${isEventReached(reach)} and ${isShown}`,
  );
  return event;
}

/** Finds the position of an event, even if it is hidden because its inbox was deleted: a client may continue from there. */
export async function findLogPosition(db: Db, accountId: string, id: string): Promise<LogPosition | undefined> {
  const [position] = await query<LogPosition>(
    db,
    sql`select id, written_by::text as "writtenBy" from events where id = ${id} and account_id = ${accountId}`,
  );
  return position;
}

/**
 * Lists the log in the order of positions, or backwards. A transaction that began earlier may commit later, so an event may appear after
 * others with a higher position, and a reader that is past its position would miss it. So the list ends before the position of the oldest
 * transaction that still runs: the log is complete up to there. Backwards the list begins there, so both orders show the same events.
 */
export async function listEvents(db: Db, page: EventPage): Promise<ListedEvents> {
  const { lookAt, limit } = page;
  const rows = await query<Nullable<ListedEvent> & { lookedTo: string | null; looked: number }>(
    db,
    sql`select found.*, looked.id as "lookedTo", looked.number as "looked"
        from (select) one
        left join (${lookAt === undefined ? sql`select null as id, 0 as number` : lastLookedAt(page)}) looked on true
        left join (
          select e.id, e.account_id as "accountId", e.written_by, ${contentFields} from (
            select e.* from (${inOrder(page)}) e where ${isWanted(page)} and ${isShown}
            order by ${positions("e", page)} limit ${limit}
          ) e ${contentJoins} where ${isTellable}
        ) found on true
        order by ${positions("found", page)}`,
  );
  const [first] = rows;
  const events = rows.filter((row): row is ListedEvent & (typeof rows)[number] => row.id !== null);
  return { events, lookedTo: first?.lookedTo ?? null, isBounded: first?.looked === lookAt };
}

/** Lists the events with these ids that the log shows, in the order of the log. With a reach: only those within it. */
export function listEventsByIds(db: Db, ids: readonly string[], reach?: Reach): Promise<ListedEvent[]> {
  return query<ListedEvent>(
    db,
    sql`select e.id, e.account_id as "accountId", ${contentFields} from events e ${contentJoins}
        where e.id = any(${arrayOf("text", ids)}) ${reach === undefined ? sql`` : sql`and ${isEventReached(reach)}`} and ${isShown} and ${isTellable}
        order by e.written_by, e.id`,
  );
}

/** Selects the events of the account, or of the inboxes, in the order of the page. There is one index scan for each of them. */
function inOrder(page: EventPage): SQL {
  const { inboxIds, lookAt } = page;
  const bound = lookAt === undefined ? sql`` : sql`limit ${lookAt}`;
  if (inboxIds === undefined) return sql`${ofIndex(sql`e.account_id = ${page.accountId}`, page)} ${bound}`;
  const [only, ...others] = inboxIds;
  if (others.length === 0) return sql`${ofIndex(sql`e.inbox_id = ${only}`, page)} ${bound}`;
  return sql`select e.* from unnest(${arrayOf("text", inboxIds)}) as asked (id)
    cross join lateral (${ofIndex(sql`e.inbox_id = asked.id collate "C"`, page)} ${bound}) e
    order by ${positions("e", page)} ${bound}`;
}

function ofIndex(mine: SQL, page: EventPage): SQL {
  return sql`select e.* from events e where ${mine} and e.written_by < event_log_horizon() ${beyond(page.from)}
    order by ${positions("e", page)}`;
}

function beyond(from: LogDirection): SQL {
  if (from.order === "asc") return sql`and (e.written_by, e.id) > ${rowOf(from.after)}`;
  return from.before === undefined ? sql`` : sql`and (e.written_by, e.id) < ${rowOf(from.before)}`;
}

/** The columns to sort by, each with the order of the page. */
function positions(of: "e" | "found", { from: { order } }: EventPage): SQL {
  return sql.raw(`${of}.written_by ${order}, ${of}.id ${order}`);
}

function lastLookedAt(page: EventPage): SQL {
  return sql`select e.id, e.number from (
      select e.id, row_number() over (order by ${positions("e", page)}) as number from (${inOrder(page)}) e
    ) e order by e.number desc limit 1`;
}

/** Whether a subscription wants an event `e`, by the rules of domain/events/subscription.ts. */
function isWanted({ types, externalIds, automated }: Subscription): SQL {
  const ofType = types.includes(everyEvent) ? sql`true` : sql`e.type = any(${arrayOf("text", types)})`;
  const ofTenant =
    externalIds === undefined ? sql`` : sql`and ${externalIdOfEvent} = any(${arrayOf("text", externalIds)})`;
  if (automated === undefined) return sql`${ofType} ${ofTenant}`;
  return sql`${ofType} ${ofTenant} and (e.type <> 'message.received'
    or (select m.automated is not null from messages m where m.id = e.message_id) = ${automated}::boolean)`;
}

/** Whether the log shows an event `e`: events about messages are hidden once their inbox is deleted. */
const isShown = sql`(not ${isOfMail} or exists (select from inboxes i where i.id = e.inbox_id and i.deleted_at is null))`;
