import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { DisabledReason } from "../../domain/events/endpoint.ts";
import { columnNames, fieldsOf, replaced } from "../columns.ts";
import { endpointLane } from "../events/endpoints.ts";
import { eventsAndDeliveries } from "../events/fan-out.ts";
import { deliveries } from "../schema.ts";

/** The number of attempts of one delivery that the log keeps: the last ones. */
const keptAttempts = 100;

export type DeliveryRow = typeof deliveries.$inferSelect;

const attemptFields = [
  "eventId",
  "lane",
  "attempt",
  "attemptedAt",
  "status",
  "latencyMs",
  "error",
  "response",
] as const;
const resultFields = ["attemptedAt", "status", "latencyMs", "error", "response"] as const;
const attemptInto = sql`insert into deliveries (${columnNames(deliveries, attemptFields)})
  select ${fieldsOf("settled", attemptFields)}`;
const attemptReplaced = replaced(deliveries, resultFields);

/** The result of an attempt to deliver an event. */
export interface DeliverySettlement {
  subjectId: string;
  eventId: string;
  lane: string;
  attempt: number;
  /** When the next attempt is due; null if there will be none. */
  dueAt: Date | null;
  /** Whether the attempt does not count against the schedule of retries. */
  isForgiven: boolean;
  /** The result for the log; null if there is nothing to log. */
  logged: Pick<DeliveryRow, (typeof resultFields)[number]> | null;
  /** The endpoint's answer to the attempt; null if it does not change the row of the endpoint. */
  answer: EndpointAnswer | null;
}

/** An answer to an attempt. It does not count if the endpoint has another URL by now. */
export interface EndpointAnswer {
  url: string;
  /** `well`: 2xx. `gone`: 410, which disables the endpoint. `badly`: any other answer, or none. */
  answered: "well" | "badly" | "gone";
  at: Date;
  /** The endpoint is disabled if its failures began at this instant or before; null if a failure does not disable it. */
  disabledIfSince: Date | null;
  /** The id for the `webhook.disabled` event; null if this answer cannot disable the endpoint. */
  disabledEventId: string | null;
}

export interface DisabledEndpoint {
  accountId: string;
  webhookId: string;
  reason: DisabledReason;
}

export interface SettledDeliveries {
  /** The deliveries whose claim was in force. */
  inForce: Set<string>;
  disabled: DisabledEndpoint[];
  /** Whether deliveries of `webhook.disabled` events were inserted. */
  hasDeliveries: boolean;
}

/**
 * Writes the results of attempts in one statement. Each result is logged, and its outbox row is deleted or waits for the next attempt. Only
 * the claim that is in force may change the outbox. The log takes every attempt that was made, even by a process that was suspended past
 * its lease, and drops the oldest attempts. The statement also disables endpoints, inserts their `webhook.disabled` events, and ends the
 * deliveries of this batch to those endpoints.
 */
export async function settleDeliveries(db: Db, settlements: readonly DeliverySettlement[]): Promise<SettledDeliveries> {
  const values = settlements.map(({ logged, answer, ...settled }) => ({ ...settled, ...logged, ...answer }));
  const hasAnswers = settlements.some(({ answer }) => answer !== null);
  const rows = await query<Row>(
    db,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify(values)}::json) as settled ("subjectId" text, "eventId" text, lane text,
            attempt int, "dueAt" timestamptz, "isForgiven" boolean, "attemptedAt" timestamptz, status int, "latencyMs" int,
            error text, response text, url text, answered text, at timestamptz, "disabledIfSince" timestamptz, "disabledEventId" text)
        ),
        ${hasAnswers ? answersTaken : noAnswers}
        done as (
          delete from outbox o using settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running'
          and ("dueAt" is null or ${hasAnswers ? endsWithEndpoint : never})
          returning o.subject_id
        ),
        put_off as (
          update outbox o set state = 'waiting', due_at = "dueAt",
            forgiven_attempts = forgiven_attempts + settled."isForgiven"::int
          from settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running'
          and "dueAt" is not null and not ${hasAnswers ? endsWithEndpoint : never}
          returning o.subject_id
        ),
        logged as (
          ${attemptInto} from settled where "attemptedAt" is not null and ${isLogged}
          on conflict (event_id, lane, attempt) do update set ${attemptReplaced}
        ),
        forgotten as (
          delete from deliveries d using settled where settled.attempt > ${keptAttempts}
          and d.event_id = settled."eventId" and d.lane = settled.lane and d.attempt <= settled.attempt - ${keptAttempts}
        )
        select subject_id as "subjectId", null::json as disabled, false as "hasDeliveries" from done
        union all select subject_id, null, false from put_off ${hasAnswers ? disabledAndPromised : sql``}`,
  );
  return {
    inForce: new Set(rows.flatMap(({ subjectId }) => subjectId ?? [])),
    disabled: rows.flatMap(({ disabled }) => disabled ?? []),
    hasDeliveries: rows.some((row) => row.hasDeliveries),
  };
}

/**
 * Whether the event of an attempt, and its message or draft, are still there, since a removed one leaves no log. A removal deletes the row in the
 * outbox first: while this statement holds that row, they cannot go. The lock on the event, which other attempts need, makes a removal wait.
 */
const isLogged = sql.raw(`("subjectId" in (select subject_id from done union all select subject_id from put_off)
  or exists (select from events e where e.id = settled."eventId"
    and (e.message_id is null or exists (select from messages where id = e.message_id)
      or exists (select from drafts where id = e.message_id)) for key share of e))`);

interface Row {
  subjectId: string | null;
  disabled: DisabledEndpoint | null;
  hasDeliveries: boolean;
}

/*
 * Most batches have no answers that change an endpoint. Their statement leaves out the following parts.
 */

const noAnswers = sql``;
const never = sql.raw("false");

/** Whether an answer `n` is the first of a run of failures of the endpoint `w`, or disables it after a long run. */
const fails = sql`n.answered = 'badly' and (w.failing_since is null or w.failing_since <= n."disabledIfSince")`;
/** Whether an answer `n` disables the endpoint `w`. */
const ends = sql`(n.answered = 'gone' or (n.answered = 'badly' and w.failing_since <= n."disabledIfSince"))`;

/**
 * `changed`: the endpoints whose state the answers change. `disabled`: those of them that are disabled now, with their events. Endpoints
 * are locked before any row of the outbox, in the order of their lanes, so that two settlements cannot deadlock.
 */
const answersTaken = sql`answers as materialized (
    select distinct on (lane, url) * from settled where answered is not null
    order by lane, url, array_position('{gone,well,badly}'::text[], answered), at
  ),
  held as materialized (
    select w.id from endpoints w where ${endpointLane} = any(array(select lane from answers)) order by ${endpointLane} for update
  ),
  changed as (
    update endpoints w set
      failing_since = case when n.answered = 'well' then null else coalesce(w.failing_since, n.at) end,
      answered_at = case when n.answered = 'well' then coalesce(w.answered_at, n.at) else w.answered_at end,
      disabled_at = case when ${ends} then n.at end,
      disabled_reason = case when ${ends} then case n.answered when 'gone' then 'gone' else 'failing' end end
    from answers n where w.id = any(array(select id from held)) and ${endpointLane} = n.lane
    and w.url = n.url and w.disabled_at is null
    and ((n.answered = 'well' and (w.failing_since is not null or w.answered_at is null)) or n.answered = 'gone' or (${fails}))
    returning w.id, w.account_id, n.lane, w.url, w.disabled_at, w.disabled_reason, n."disabledEventId" as event_id
  ),
  disabled as materialized (select * from changed where disabled_at is not null),
  new_event as materialized (
    select event_id as id, account_id, null::text as inbox_id, null::text as thread_id, null::text as message_id,
      'webhook.disabled' as type, disabled_at as occurred_at,
      jsonb_build_object('webhookId', id, 'url', url, 'reason', disabled_reason) as data, false as is_automated
    from disabled
  ),
  ${eventsAndDeliveries},`;

/** Whether a delivery of `settled` ends because this statement disables its endpoint. */
const endsWithEndpoint = sql.raw(`(settled.answered in ('badly', 'gone') and exists (select from disabled d
  where d.lane = settled.lane and d.url = settled.url))`);

const disabledAndPromised = sql`union all select null,
    json_build_object('accountId', account_id, 'webhookId', id, 'reason', disabled_reason), false from disabled
  union all select null, null, exists (select from delivery)`;
