import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";
import { promiseIdOf } from "../../domain/events/promise-id.ts";
import type { OutboxKind } from "../outbox/items.ts";
import { endpointOfPromise, endpointSubscribes, promiseAgainInto, promiseColumns, promiseId } from "./fan-out.ts";
import { isOfMessage, toldJoins } from "./told.ts";

/** An endpoint of an account. */
export interface Addressee {
  accountId: string;
  /** Null: the default one. */
  endpointId: string | null;
}

/** `asked`, of which `addressee` makes the endpoint `w`. */
export const asked = ({ accountId, endpointId }: Addressee) =>
  sql`asked as materialized (select ${accountId}::text collate "C" as account_id, ${endpointId}::text collate "C" as endpoint_id)`;
export const addressee = sql`(select w.*, coalesce(w.endpoint_id, asked.account_id) as lane
  from asked cross join lateral (${endpointOfPromise("asked.endpoint_id", "asked.account_id")}) w)`;

/** What was tried of `e` at `w`. */
export const tried = sql`(select coalesce(max(attempt), 0) as attempts, coalesce(bool_or(status between 200 and 299), false) as answered
  from deliveries d where d.event_id = ${promiseId})`;

const triedColumns = sql.raw("tried.attempts, tried.attempts");

/**
 * Puts an event in line once more, with a fresh schedule of retries. What is in line or on the wire already stays as it is. The lock
 * comes first, so that an attempt that ends just now is counted. Answers of which kind the promise is.
 */
export async function insertRedelivery(
  db: Db,
  eventId: string,
  to: Addressee,
  now: Date,
): Promise<OutboxKind | undefined> {
  const inLine = sql`select subject_id from outbox where subject_id = ${promiseIdOf(eventId, to.endpointId)} for update`;
  return transaction(db, async (tx) => {
    const [pending] = await query<{ kind: OutboxKind }>(
      tx,
      sql`update outbox set state = 'ready', forgiven_attempts = attempt
          where subject_id = (${inLine}) and state = 'waiting' returning kind`,
    );
    if (pending !== undefined) return pending.kind;
    const [promised] = await query<{ kind: OutboxKind }>(
      tx,
      sql`with ${asked(to)}
          ${promiseAgainInto} select ${promiseColumns}, ${now}, ${now}, ${triedColumns}
          from events e cross join lateral ${addressee} w cross join lateral ${tried} tried
          where e.id = ${eventId} on conflict (subject_id) do nothing returning kind`,
    );
    return promised?.kind;
  });
}

export interface Recovery extends Addressee {
  after: LogPosition;
  /** How many events are looked at. */
  limit: number;
  now: Date;
}

export interface Recovered {
  queued: number;
  /** The kinds of what was put in line; null for nothing. */
  promised: OutboxKind[] | null;
  /** There is more behind what was looked at, or there will be: what the log does not show yet counts. */
  hasMore: boolean;
  /** The last event that was looked at; null where there was none. */
  last: string | null;
}

/**
 * Puts the events behind a position in line that the endpoint wants and has never answered with 2xx, each where it stood: in an inbox those
 * that happened first go first, before what has come since. An endpoint whose address has answered nothing with 2xx yet gets one event,
 * and only while none is in line for it; the look ends with that event. Call it with the endpoint locked, so that only one runs for each:
 * what this statement does not see in line has ended, and is in its log.
 */
export async function insertRecovery(tx: Db, { after, limit, now, ...to }: Recovery): Promise<Recovered> {
  const position = sql`${after.writtenBy}::xid8, ${after.id}::text collate "C"`;
  const [recovered] = await query<Recovered>(
    tx,
    sql`with ${asked(to)},
        looked as materialized (
          select e.* from events e where e.account_id = ${to.accountId} and e.written_by < event_log_horizon()
          and (e.written_by, e.id) > (${position}) order by e.written_by, e.id limit ${limit}
        ),
        tellable as materialized (
          select e.*, m.automated is not null as is_automated from looked e ${toldJoins}
          where m.id is not null or not (${isOfMessage})
        ),
        known as materialized (select w.answered_at is not null as answers from ${addressee} w),
        missed as materialized (
          select e.* from tellable e cross join lateral ${addressee} w cross join lateral ${tried} tried
          where ${endpointSubscribes} and not tried.answered
          and not exists (select from outbox o where o.subject_id = ${promiseId})
        ),
        chosen as materialized (
          select * from missed order by written_by, id limit case
            when (select answers from known) then ${limit}
            when exists (select from asked, outbox o where o.kind in ('webhook', 'endpoint') and o.lane = coalesce(asked.endpoint_id, asked.account_id)) then 0
            else 1 end
        ),
        promised as (
          ${promiseAgainInto} select ${promiseColumns}, ${now}, e.occurred_at, ${triedColumns}
          from chosen e cross join lateral ${addressee} w cross join lateral ${tried} tried
          order by e.written_by, e.id on conflict (subject_id) do nothing returning kind
        ),
        last as (
          select written_by, id from looked
          where (select answers from known) or not exists (select from missed)
          or (written_by, id) <= (select written_by, id from chosen order by written_by, id limit 1)
          order by written_by desc, id desc limit 1
        )
        select (select count(*) from promised) as queued, (select array_agg(distinct kind) from promised) as promised,
          (select id from last) as last,
          exists (
            select from events e where e.account_id = ${to.accountId} and (e.written_by, e.id) >
              (coalesce((select written_by from last), ${after?.writtenBy ?? "0"}::xid8), coalesce((select id from last), ${after?.id ?? ""}))
          ) as "hasMore"`,
  );
  if (recovered === undefined) throw new Error("Cannot recover events: the database gave no answer");
  return recovered;
}
