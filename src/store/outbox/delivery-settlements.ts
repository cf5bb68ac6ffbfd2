import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { DisabledReason } from "../../domain/events/endpoint.ts";
import { columnNames, fieldsOf, replaced } from "../columns.ts";
import { tellEvents } from "../events/fan-out.ts";
import { deliveries } from "../schema.ts";
import type { OutboxKind } from "./items.ts";

/** Of an event that is redelivered again and again, the last ones. */
const keptAttempts = 100;

export type DeliveryRow = typeof deliveries.$inferSelect;

const attemptFields = ["attemptedAt", "status", "latencyMs", "error", "response"] as const;
const attemptInto = sql`insert into deliveries (event_id, attempt, ${columnNames(deliveries, attemptFields)})
  select "subjectId", attempt, ${fieldsOf("settled", attemptFields)}`;
const attemptReplaced = replaced(deliveries, attemptFields);

/** What an attempt to deliver an event came to. */
export interface DeliverySettlement {
  subjectId: string;
  attempt: number;
  /** Null: there is nothing more to do. */
  dueAt: Date | null;
  /** It doesn't count against the schedule. */
  isForgiven: boolean;
  /** Null where nothing was tried. */
  logged: Omit<DeliveryRow, "eventId" | "attempt"> | null;
  /** What it says of its endpoint; null where that changes nothing. */
  news: EndpointNews | null;
}

/** What an attempt says of the endpoint that it went to. It holds for this address alone: a new one is a new chance. */
export interface EndpointNews {
  accountId: string;
  /** Null: the default one. */
  endpointId: string | null;
  url: string;
  /** With 2xx, not so, or with 410: nothing more is wanted there. */
  answered: "well" | "badly" | "gone";
  at: Date;
  /** It is disabled if it has failed since then, or longer; null: not yet, or never. */
  disabledIfSince: Date | null;
  /** Of the event that tells of it; null where it can't come to that. */
  eventId: string | null;
}

export interface DisabledEndpoint {
  accountId: string;
  webhookId: string;
  reason: DisabledReason;
}

export interface SettledDeliveries {
  /** Whose claim was in force. */
  inForce: Set<string>;
  disabled: DisabledEndpoint[];
  /** The kinds of what was promised of that. */
  promised: OutboxKind[];
}

/**
 * Writes down what attempts came to, in one statement: a row of the log for each, and the end of its outbox row or the next attempt.
 * Only the claim that is in force may change the outbox; the log takes every attempt that was made, also of a process that was
 * stopped past its lease, and forgets the attempts that are too many. An endpoint that is disabled by it, the event that tells of that,
 * and the end of what was tried there are one with it.
 */
export async function settleDeliveries(db: Db, settlements: readonly DeliverySettlement[]): Promise<SettledDeliveries> {
  const values = settlements.map(({ logged, news, ...settled }) => ({ ...settled, ...logged, ...news }));
  const hasNews = settlements.some(({ news }) => news !== null);
  const rows = await query<Row>(
    db,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify(values)}::json) as settled ("subjectId" text, attempt int,
            "dueAt" timestamptz, "isForgiven" boolean, "attemptedAt" timestamptz, status int, "latencyMs" int, error text, response text,
            "accountId" text, "endpointId" text, url text, answered text, at timestamptz, "disabledIfSince" timestamptz, "eventId" text)
        ),
        ${hasNews ? newsTaken : noNews}
        done as (
          delete from outbox o using settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running'
          and ("dueAt" is null or ${hasNews ? endsWithEndpoint : never})
          returning o.subject_id
        ),
        put_off as (
          update outbox o set state = 'waiting', due_at = "dueAt",
            forgiven_attempts = forgiven_attempts + settled."isForgiven"::int
          from settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running'
          and "dueAt" is not null and not ${hasNews ? endsWithEndpoint : never}
          returning o.subject_id
        ),
        logged as (
          ${attemptInto} from settled where "attemptedAt" is not null
          on conflict (event_id, attempt) do update set ${attemptReplaced}
        ),
        forgotten as (
          delete from deliveries d using settled
          where settled.attempt > ${keptAttempts} and d.event_id = settled."subjectId" and d.attempt <= settled.attempt - ${keptAttempts}
        )
        select subject_id as "subjectId", null::json as disabled, null as kind from done
        union all select subject_id, null, null from put_off ${hasNews ? whatCameOfIt : sql``}`,
  );
  return {
    inForce: new Set(rows.flatMap(({ subjectId }) => subjectId ?? [])),
    disabled: rows.flatMap(({ disabled }) => disabled ?? []),
    promised: rows.flatMap(({ kind }) => kind ?? []),
  };
}

interface Row {
  subjectId: string | null;
  disabled: DisabledEndpoint | null;
  kind: OutboxKind | null;
}

/*
 * Most batches have no news: all was answered well, by endpoints of which nothing else was known. Their statement has none of what follows.
 */

const noNews = sql``;
const never = sql.raw("false");

/**
 * `disabled`, and what tells of it. Endpoints are locked first, in one order, and before any row of the outbox: two that settle for the
 * same ones can't wait for each other.
 */
const newsTaken = sql`news as materialized (
    select distinct on ("accountId", "endpointId", url) * from settled where answered is not null
    order by "accountId", "endpointId", url, array_position('{gone,well,badly}'::text[], answered), at
  ),
  ${endpointChange("webhooks", "account_id", sql`select "accountId" as named, * from news where "endpointId" is null`)},
  ${endpointChange("endpoints", "id", sql`select "endpointId" as named, * from news where "endpointId" is not null`)},
  disabled as materialized (
    select * from changed_webhooks where disabled_at is not null union all select * from changed_endpoints where disabled_at is not null
  ),
  told as materialized (
    select event_id as id, account_id, null::text as inbox_id, null::text as thread_id, null::text as message_id,
      'webhook.disabled' as type, disabled_at as occurred_at,
      jsonb_build_object('webhookId', id, 'url', url, 'reason', disabled_reason) as data, false as is_automated
    from disabled
  ),
  ${tellEvents},`;

/** `changed_…`: the endpoints of a table of which there is something new. */
function endpointChange(table: "webhooks" | "endpoints", key: "account_id" | "id", news: SQL): SQL {
  const [held, changed, of, name] = [`held_${table}`, `changed_${table}`, table, `w.${key}`].map((text) =>
    sql.raw(text),
  );
  const fails = sql`n.answered = 'badly' and (w.failing_since is null or w.failing_since <= n."disabledIfSince")`;
  const ends = sql`(n.answered = 'gone' or (n.answered = 'badly' and w.failing_since <= n."disabledIfSince"))`;
  return sql`${held} as materialized (
      select ${name} as name from ${of} w where ${name} = any(array(select named from (${news}) n)) order by ${name} for update
    ),
    ${changed} as (
      update ${of} w set
        failing_since = case when n.answered = 'well' then null else coalesce(w.failing_since, n.at) end,
        answered_at = case when n.answered = 'well' then coalesce(w.answered_at, n.at) else w.answered_at end,
        disabled_at = case when ${ends} then n.at end,
        disabled_reason = case when ${ends} then case n.answered when 'gone' then 'gone' else 'failing' end end
      from (${news}) n where ${name} = n.named and ${name} = any(array(select name from ${held}))
      and w.url = n.url and w.disabled_at is null
      and ((n.answered = 'well' and (w.failing_since is not null or w.answered_at is null)) or n.answered = 'gone' or (${fails}))
      returning w.id, w.account_id, n."endpointId" as endpoint_id, w.url, w.disabled_at, w.disabled_reason, n."eventId" as event_id
    )`;
}

/** Whether an attempt of `settled` ends with its endpoint, which was disabled by this statement. */
const endsWithEndpoint = sql.raw(`(settled.answered in ('badly', 'gone') and exists (select from disabled d
  where d.account_id = settled."accountId" and d.endpoint_id is not distinct from settled."endpointId" and d.url = settled.url))`);

const whatCameOfIt = sql`union all select null,
    json_build_object('accountId', account_id, 'webhookId', id, 'reason', disabled_reason), null from disabled
  union all select null, null, kind from promised`;
