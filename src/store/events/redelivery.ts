import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";
import { contentJoins, isTellable } from "./event-content.ts";
import { numberOf, rowOf } from "./event-log.ts";
import {
  deliveryAgainInto,
  deliveryColumns,
  deliveryId,
  deliveryIdOf,
  endpointOfLane,
  endpointSubscribes,
} from "./fan-out.ts";

/** An endpoint of an account, by its lane. */
export interface Addressee {
  accountId: string;
  lane: string;
}

/** The CTE `asked`: the account and the lane by which `addressee` finds the endpoint. */
export const asked = ({ accountId, lane }: Addressee) =>
  sql`asked as materialized (select ${accountId}::text collate "C" as account_id, ${lane}::text collate "C" as lane)`;
export const addressee = sql`(select w.* from asked cross join lateral (${endpointOfLane("asked.lane")}) w)`;

/** `attempts`: the number of the last attempt to deliver `e` to `w`, 0 for none. `answered`: whether an attempt was answered with 2xx. */
export const tried = sql`(select coalesce(max(attempt), 0) as attempts, coalesce(bool_or(status between 200 and 299), false) as answered
  from deliveries d where d.event_id = e.id and d.lane = w.lane)`;

const triedColumns = sql.raw("tried.attempts, tried.attempts");

/**
 * Delivers an event again, with a new schedule of retries. A delivery in the outbox that is ready or running stays as it is. Its row is
 * locked first, so that an attempt that is just ending is counted. Returns whether a delivery was inserted or made ready.
 */
export async function insertRedelivery(db: Db, eventId: string, to: Addressee, now: Date): Promise<boolean> {
  const inLine = sql`select subject_id from outbox where subject_id = ${deliveryIdOf(eventId, to)} for update`;
  return transaction(db, async (tx) => {
    const readied = await query(
      tx,
      sql`update outbox set state = 'ready', forgiven_attempts = attempt
          where subject_id = (${inLine}) and state = 'waiting' returning 1`,
    );
    if (readied.length > 0) return true;
    const inserted = await query(
      tx,
      sql`with ${asked(to)}
          ${deliveryAgainInto} select ${deliveryColumns}, ${now}, ${now}, ${triedColumns}
          from events e cross join lateral ${addressee} w cross join lateral ${tried} tried
          where e.id = ${eventId} on conflict (subject_id) do nothing returning 1`,
    );
    return inserted.length > 0;
  });
}

export interface Recovery extends Addressee {
  after: LogPosition;
  /** The most events to look at. */
  limit: number;
  now: Date;
}

export interface Recovered {
  queued: number;
  /** Whether the log has events after `last`, including events that it does not show yet. */
  hasMore: boolean;
  /** The id of the event after which the next recovery continues; null if it begins at the same position again. */
  last: string | null;
}

/**
 * Inserts deliveries of the events after a position that the endpoint subscribes to and has never answered with 2xx. They get the times of
 * their events, so in an inbox they are delivered before newer events. An endpoint whose URL has never answered with 2xx gets only one
 * event, or none if another delivery to it is in the outbox; the statement then ends with that event. The caller locks the endpoint, so
 * that one recovery runs at a time: a delivery that this statement does not find in the outbox has ended, and is in the log.
 */
export async function insertRecovery(tx: Db, { after, limit, now, ...to }: Recovery): Promise<Recovered> {
  const [recovered] = await query<Recovered>(
    tx,
    sql`with ${asked(to)},
        looked as materialized (
          select e.* from events e where e.account_id = ${to.accountId} and e.written_by < event_log_horizon()
          and (e.written_by, e.id) > ${rowOf(after)} order by e.written_by, e.id limit ${limit}
        ),
        tellable as materialized (
          select e.*, m.automated is not null as is_automated from looked e ${contentJoins}
          where ${isTellable}
        ),
        known as materialized (select w.answered_at is not null as answers from ${addressee} w),
        missed as materialized (
          select e.* from tellable e cross join lateral ${addressee} w cross join lateral ${tried} tried
          where ${endpointSubscribes} and not tried.answered
          and not exists (select from outbox o where o.subject_id = ${deliveryId})
        ),
        chosen as materialized (
          select * from missed order by written_by, id limit case
            when (select answers from known) then ${limit}
            when exists (select from asked, outbox o where o.kind = 'webhook' and o.lane = asked.lane) then 0
            else 1 end
        ),
        inserted as (
          ${deliveryAgainInto} select ${deliveryColumns}, ${now}, e.occurred_at, ${triedColumns}
          from chosen e cross join lateral ${addressee} w cross join lateral ${tried} tried
          order by e.written_by, e.id on conflict (subject_id) do nothing returning 1
        ),
        last as (
          select written_by, id from looked
          where (select answers from known) or not exists (select from missed)
          or (written_by, id) <= (select written_by, id from chosen order by written_by, id limit 1)
          order by written_by desc, id desc limit 1
        )
        select (select count(*) from inserted) as queued, (select id from last) as last,
          exists (
            select from events e where e.account_id = ${to.accountId} and (e.written_by, e.id) >
              (coalesce((select written_by from last), ${numberOf(after.writtenBy)}), coalesce((select id from last), ${after.id}))
          ) as "hasMore"`,
  );
  if (recovered === undefined) throw new Error("Cannot recover events: the database gave no answer");
  return recovered;
}
