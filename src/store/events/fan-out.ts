import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { NewEvent } from "../../domain/events/event-types.ts";
import { columnName, columnsOf, type FieldOf } from "../columns.ts";
import type { OutboxKind } from "../outbox/items.ts";
import { recordSet } from "../rows.ts";
import { endpoints, events } from "../schema.ts";

/*
 * Whoever writes an event writes its promises by the same statement: who has subscribed when it runs is told, whatever dies, and no
 * process needs to know endpoints by heart.
 */

/** Their names as columns: what `told` of `tellEvents` has, beside `is_automated`. */
const told = ["id", "accountId", "inboxId", "threadId", "messageId", "type", "occurredAt", "data"] as const;
const toldColumns = names(events, told);

/** What an endpoint has that its promises and deliveries go by. */
const endpointFields = [
  ...(["url", "secret", "previousSecret", "previousSecretUntil", "disabledAt", "failingSince", "answeredAt"] as const),
  ...(["eventTypes", "inboxIds", "skipAutomated", "include"] as const),
];
const endpointColumns = names(endpoints, endpointFields);

/** As many as an account may have in all; a bound, so that the planner looks them up however large it believes the table to be. */
export const mostEndpoints = 100;

/**
 * The endpoints of an account that have an address: `endpoint_id` and `webhook_id`, of which the former is null for the default one, the
 * `lane` of its promises, and what they go by.
 */
export function endpointsOfAccount(accountId: string): SQL {
  return sql.raw(
    `(select null::text as endpoint_id, id as webhook_id, account_id as lane, ${endpointColumns} from webhooks
        where account_id = ${accountId} and url is not null limit 1)
      union all (select id, id, id, ${endpointColumns} from endpoints where account_id = ${accountId} limit ${mostEndpoints})`,
  );
}

/** The one endpoint that a promise is for. */
export function endpointOfPromise(endpointId: string, accountId: string): SQL {
  return sql.raw(
    `(select null::text as endpoint_id, id as webhook_id, ${endpointColumns} from webhooks
        where ${endpointId} is null and account_id = ${accountId} limit 1)
      union all (select id, id, ${endpointColumns} from endpoints where id = ${endpointId} limit 1)`,
  );
}

/**
 * Whether an event `e` of `told` is one that an endpoint `w` has subscribed to, in the words of domain/events/subscription.ts. That it was
 * disabled itself is told to the others.
 */
export const endpointSubscribes = sql.raw(
  `(e.type = any(w.event_types) or '*' = any(w.event_types))
   and (w.inbox_ids is null or e.inbox_id collate "C" = any(w.inbox_ids))
   and not (w.skip_automated and e.is_automated and e.type = 'message.received')
   and (e.type <> 'webhook.disabled' or e.data->>'webhookId' is distinct from w.webhook_id)`,
);

/** Whether it is told of it when it happens. */
const endpointWants = sql`w.disabled_at is null and ${endpointSubscribes}`;

/** Whether a promise of `e` to `w` is one that an older process carries out as we do. */
const isOfFirstHour = `w.endpoint_id is null and e.type = 'message.received'
  and w.event_types = '{message.received}' and w.include = '{}'`;

/** Id of the promise of an event `e` to an endpoint `w`. */
export const promiseId = sql.raw("e.id || coalesce('.' || w.endpoint_id, '')");

const promiseFields = "subject_id, kind, account_id, inbox_id, lane, event_id, endpoint_id, due_at, created_at";
const promiseInto = sql.raw(`insert into outbox (${promiseFields})`);
/** Into line once more: attempts go on counting, and the schedule begins anew. */
export const promiseAgainInto = sql.raw(`insert into outbox (${promiseFields}, attempt, forgiven_attempts)`);

/** What they write of `e` and `w`, without the instants. What belongs to no inbox stands in line under its account. */
export const promiseColumns = sql`${promiseId}, ${sql.raw(`case when ${isOfFirstHour} then 'webhook' else 'endpoint' end,
    e.account_id, coalesce(e.inbox_id, e.account_id), w.lane, case when not (${isOfFirstHour}) then e.id end, w.endpoint_id`)}`;

/** `event as (…), promised as (…)`: writes the events of a CTE `told` and their promises. */
export const tellEvents = sql`event as (${sql.raw(`insert into events (${toldColumns}) select ${toldColumns} from told`)}),
  promised as (${promiseInto} select ${promiseColumns}, e.occurred_at, e.occurred_at
    from told e cross join lateral (${endpointsOfAccount("e.account_id")}) w where ${endpointWants} returning kind)`;

/** The kinds of what `tellEvents` has promised, null for none: whose workers are to be woken. */
export const promisedKinds = sql`(select array_agg(distinct kind) from promised) as promised`;

/**
 * `told as materialized (…)` of these events. None of them tells of mail that came in. The condition is about `row`, with the
 * fields of events.
 */
export function toldRows(rows: readonly NewEvent[], where: SQL = sql``): SQL {
  return sql`told as materialized (select ${toldSelected}, false as is_automated from ${recordSet(events, rows, told)}${where})`;
}

const toldSelected = sql.raw(told.map((field) => `row."${field}" as ${nameOf(field)}`).join(", "));

/** Tells what has happened, in the transaction of what it tells. Answers the kinds of what was promised. */
export async function insertEvents(tx: Db, rows: readonly NewEvent[]): Promise<OutboxKind[]> {
  if (rows.length === 0) return [];
  const [row] = await query<{ promised: OutboxKind[] | null }>(
    tx,
    sql`with ${toldRows(rows)}, ${tellEvents} select ${promisedKinds}`,
  );
  return row?.promised ?? [];
}

function names<Table extends typeof events | typeof endpoints>(
  table: Table,
  fields: readonly FieldOf<Table>[],
): string {
  return Object.values(columnsOf(table, fields)).map(columnName).join(", ");
}

function nameOf(field: (typeof told)[number]): string {
  return columnName(columnsOf(events, [field])[field] as (typeof events)["id"]);
}
