import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import { type Selected, selected } from "../columns.ts";
import { eventBody } from "../mail/bodies.ts";
import { events, type inboxes, messages } from "../schema.ts";

type EventRow = typeof events.$inferSelect;

const ofEvent = selected(events, "e", ["id", "inboxId", "threadId", "messageId", "occurredAt"]);
const ofMessage = selected(messages, "m", ["rfcMessageId", "fromAddr", "toAddr", "cc", "subject", "attachmentCount"]);

/** What an event tells of a message `m`, beside its text. */
export const toldMessage = sql`${ofMessage}, m.created_at as "receivedAt"`;
export type ToldMessage = Selected<typeof ofMessage> & { receivedAt: Date };

/** An event with what it tells of. */
export type ShownEvent = NonNullFields<Selected<typeof ofEvent>> &
  Pick<typeof inboxes.$inferSelect, "externalId"> &
  ToldMessage & { bodyText: string };

/** Of mail that came in. */
type NonNullFields<Row> = { [Name in keyof Row]: NonNullable<Row[Name]> };

/** As the log finds it: a text comes with it where it is short, else its size alone, in octets. */
export type ListedEvent = (ShownEvent & { longBody: null }) | (Omit<ShownEvent, "bodyText"> & { longBody: number });

/** A position in the log. */
export type EventPosition = Pick<EventRow, "id" | "writtenBy">;

/** What is kept of an event that happens now. */
export type NewEvent = Omit<EventRow, "writtenBy" | "data"> & Partial<Pick<EventRow, "data">>;

export interface EventPage {
  accountId: string;
  inboxId: string | undefined;
  after: EventPosition | undefined;
  limit: number;
}

/** The caller's event, in a living inbox. */
export async function findEvent(
  db: Db,
  accountId: string,
  id: string,
): Promise<(EventPosition & Pick<EventRow, "inboxId">) | undefined> {
  const [event] = await query<EventPosition & Pick<EventRow, "inboxId">>(
    db,
    sql`select e.id, e.inbox_id as "inboxId", e.written_by::text as "writtenBy" from events e
        join inboxes i on i.id = e.inbox_id and i.deleted_at is null
        where e.id = ${id} and e.account_id = ${accountId}`,
  );
  return event;
}

/** A position in the log, also of an event whose inbox has been deleted since: a reader may stand there. */
export async function findEventPosition(db: Db, accountId: string, id: string): Promise<EventPosition | undefined> {
  const [position] = await query<EventPosition>(
    db,
    sql`select id, written_by::text as "writtenBy" from events where id = ${id} and account_id = ${accountId}`,
  );
  return position;
}

/**
 * The log in the order in which it was written. Transactions commit in another order than they begin, so an event may
 * appear before one that was written earlier, and a reader who has gone past would never see the latter. Hence nothing is
 * shown that was written at or after the oldest transaction still running: what is before that is complete.
 */
export async function listEvents(db: Db, page: EventPage): Promise<ListedEvent[]> {
  const mine = page.inboxId === undefined ? sql`e.account_id = ${page.accountId}` : sql`e.inbox_id = ${page.inboxId}`;
  return query<ListedEvent>(
    db,
    sql`select ${ofEvent}, e.external_id as "externalId", ${toldMessage}, ${eventBody}
        from (
          select e.*, i.external_id from events e join inboxes i on i.id = e.inbox_id and i.deleted_at is null
          where ${mine} and e.written_by < event_log_horizon()
          and (e.written_by, e.id) > (${page.after?.writtenBy ?? "0"}::xid8, ${page.after?.id ?? ""}::text collate "C")
          order by e.written_by, e.id limit ${page.limit}
        ) e join messages m on m.id = e.message_id
        order by e.written_by, e.id`,
  );
}

/**
 * Puts an event in line once more, with a fresh schedule of retries; attempts go on counting. What is in line or on the
 * wire already stays as it is. The lock comes first, so that an attempt that ends just now is counted.
 */
export async function insertRedelivery(db: Db, eventId: string, now: Date): Promise<void> {
  await transaction(db, async (tx) => {
    const pending = await query(
      tx,
      sql`update outbox set state = 'ready', forgiven_attempts = attempt
          where subject_id = (select subject_id from outbox where subject_id = ${eventId} for update) and state = 'waiting'
          returning subject_id`,
    );
    if (pending.length > 0) return;
    await query(
      tx,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, attempt, forgiven_attempts, created_at)
          select e.id, 'webhook', e.account_id, e.inbox_id, e.account_id, ${now}, made.attempts, made.attempts, ${now}
          from events e cross join lateral (
            select coalesce(max(attempt), 0) as attempts from deliveries where event_id = e.id
          ) made where e.id = ${eventId} on conflict (subject_id) do nothing`,
    );
  });
}
