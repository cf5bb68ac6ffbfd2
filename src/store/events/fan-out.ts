import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { NewEvent } from "../../domain/events/event-types.ts";
import { columnName, columnsOf } from "../columns.ts";
import { recordSet } from "../rows.ts";
import { endpoints, events } from "../schema.ts";
import { endpointLane } from "./endpoints.ts";
import { externalIdOfEvent } from "./event-content.ts";

/*
 * The statement that writes an event also writes its deliveries to the outbox. So every endpoint that is subscribed when the statement
 * runs gets the event, even if a process dies afterwards, and no process needs to keep a list of endpoints.
 */

/** The fields of the CTE `new_event`, which `eventsAndDeliveries` reads. The CTE also has the column `is_automated`. */
const eventFields = ["id", "accountId", "inboxId", "threadId", "messageId", "type", "occurredAt", "data"] as const;
const eventColumns = columnNamesOf(events, eventFields).join(", ");

/** The fields of an endpoint that decide whether it gets an event, and how its delivery is sent. */
const endpointFields = [
  "url",
  "secret",
  "previousSecret",
  "previousSecretUntil",
  "disabledAt",
  "failingSince",
  "answeredAt",
  "eventTypes",
  "inboxIds",
  "externalIds",
  "skipAutomated",
  "include",
  "headers",
] as const;
const endpointColumns = sql`w.id as webhook_id, ${endpointLane} as lane, ${sql.raw(
  columnNamesOf(endpoints, endpointFields)
    .map((name) => `w.${name}`)
    .join(", "),
)}`;

/**
 * The most endpoints that an account may have: 100, and a default one that was added later. With this limit the planner uses the index,
 * whatever size of the table it assumes.
 */
const mostEndpoints = 101;

/** Selects the endpoints of an account that have a URL. */
export function endpointsOfAccount(accountId: string): SQL {
  return sql`select ${endpointColumns} from endpoints w
    where w.account_id = ${sql.raw(accountId)} and w.url is not null limit ${sql.raw(String(mostEndpoints))}`;
}

/** Selects the endpoint of a lane. */
export function endpointOfLane(lane: string): SQL {
  return sql`select ${endpointColumns} from endpoints w where ${endpointLane} = ${sql.raw(lane)} limit 1`;
}

/**
 * Whether an endpoint `w` has subscribed to an event `e` of `new_event`, by the rules of domain/events/subscription.ts. An endpoint never
 * gets the `webhook.disabled` event about itself; the other endpoints do.
 */
export const endpointSubscribes = sql`(e.type = any(w.event_types) or '*' = any(w.event_types))
   and (w.inbox_ids is null or e.inbox_id collate "C" = any(w.inbox_ids))
   and (w.external_ids is null or ${externalIdOfEvent} = any(w.external_ids))
   and not (w.skip_automated and e.is_automated and e.type = 'message.received')
   and (e.type <> 'webhook.disabled' or e.data->>'webhookId' is distinct from w.webhook_id)`;

/** Whether an endpoint `w` gets a new event `e`: it is not disabled, and has subscribed to the event. */
const endpointWants = sql`w.disabled_at is null and ${endpointSubscribes}`;

/** The `subject_id` of a delivery of an event `e` to an endpoint `w`. */
export const deliveryId = sql.raw("case w.lane when e.account_id then e.id else e.id || '.' || w.lane end");

/** The `subject_id` of a delivery, as `deliveryId` makes it in SQL. */
export function deliveryIdOf(eventId: string, { accountId, lane }: { accountId: string; lane: string }): string {
  return lane === accountId ? eventId : `${eventId}.${lane}`;
}

const deliveryFields = "subject_id, kind, account_id, inbox_id, lane, event_id, due_at, created_at";
const deliveryInto = sql.raw(`insert into outbox (${deliveryFields})`);
/** Begins an insert of a delivery that was attempted before: its count of attempts continues, and its schedule of retries starts again. */
export const deliveryAgainInto = sql.raw(`insert into outbox (${deliveryFields}, attempt, forgiven_attempts)`);

/**
 * The values of `deliveryFields` for an event `e` and an endpoint `w`, except for the instants at their end. An event without an inbox gets
 * its account's id as `inbox_id`.
 */
export const deliveryColumns = sql`${deliveryId}, 'webhook', e.account_id, coalesce(e.inbox_id, e.account_id), w.lane, e.id`;

/** `event as (…), delivery as (…)`: inserts the events of a CTE `new_event` and their deliveries. */
export const eventsAndDeliveries = sql`event as (${sql.raw(`insert into events (${eventColumns}) select ${eventColumns} from new_event`)}),
  delivery as (${deliveryInto} select ${deliveryColumns}, e.occurred_at, e.occurred_at
    from new_event e cross join lateral (${endpointsOfAccount("e.account_id")}) w where ${endpointWants} returning 1)`;

/** Whether `eventsAndDeliveries` inserted deliveries. If so, the caller must wake the worker that sends them. */
export const hasDeliveries = sql`exists (select from delivery) as "hasDeliveries"`;

/**
 * The CTE `new_event as materialized (…)` with these events, none of which may be `message.received`. `where` may filter them: it is a
 * condition about `row`, which has the fields of an event.
 */
export function newEvents(rows: readonly NewEvent[], where: SQL = sql``): SQL {
  return sql`new_event as materialized (select ${eventsSelected}, false as is_automated from ${recordSet(events, rows, eventFields)}${where})`;
}

const eventsSelected = sql.raw(
  Object.entries(columnsOf(events, eventFields))
    .map(([field, column]) => `row."${field}" as ${columnName(column)}`)
    .join(", "),
);

/** Inserts events, in the transaction that causes them, and their deliveries. Returns whether there are deliveries. */
export async function insertEvents(tx: Db, rows: readonly NewEvent[]): Promise<boolean> {
  if (rows.length === 0) return false;
  const [row] = await query<{ hasDeliveries: boolean }>(
    tx,
    sql`with ${newEvents(rows)}, ${eventsAndDeliveries} select ${hasDeliveries}`,
  );
  return row?.hasDeliveries === true;
}

function columnNamesOf(table: typeof events | typeof endpoints, fields: readonly string[]): string[] {
  return Object.values(columnsOf(table, fields)).map(columnName);
}
