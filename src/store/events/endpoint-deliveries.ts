import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { LogPosition } from "../../domain/events/log-position.ts";
import type { events } from "../schema.ts";
import { contentJoins, isTellable } from "./event-content.ts";
import { numberOf, rowOf } from "./event-log.ts";
import { deliveryId, endpointSubscribes } from "./fan-out.ts";
import { type Addressee, addressee, asked, tried } from "./redelivery.ts";

export type DeliveryState = "pending" | "delivered" | "failed" | "none";

/** An event in the list of an endpoint, with the state of its delivery to that endpoint. */
export interface EndpointDelivery extends LogPosition {
  type: (typeof events.$inferSelect)["type"];
  state: DeliveryState;
  attempts: number;
  lastAttemptAt: Date | null;
  lastStatus: number | null;
  lastError: string | null;
  nextAttemptAt: Date | null;
  occurredAt: Date;
  /** The subject of its message; null for an event about no message. */
  subject: string | null;
  lastLatencyMs: number | null;
}

export interface EndpointDeliveryPage extends Addressee {
  before: LogPosition | undefined;
  state: DeliveryState | undefined;
  limit: number;
  /** The most events to look at, including those that are not listed. */
  mostLookedAt: number;
}

export interface ListedDeliveries {
  rows: EndpointDelivery[];
  /** The oldest event that was looked at; undefined if all events of the log were. */
  lookedTo: LogPosition | undefined;
}

type Row = EndpointDelivery & { lookedAt: number; lookedToId: string | null; lookedToWrittenBy: string | null };

/**
 * Lists events of an account, newest first, with their state at an endpoint: the events that it subscribes to now, and those that have or
 * had a delivery to it. The list goes backwards through the log, so a new event does not change the pages after the cursor, even if its
 * transaction commits late.
 */
export async function listEndpointDeliveries(
  db: Db,
  { before, state, limit, mostLookedAt, ...to }: EndpointDeliveryPage,
): Promise<ListedDeliveries> {
  const behind = before && sql`and (e.written_by, e.id) < ${rowOf(before)}`;
  const rows = await query<Row>(
    db,
    sql`with ${asked(to)},
        looked as materialized (
          select e.* from events e where e.account_id = ${to.accountId} ${behind ?? sql``}
          order by e.written_by desc, e.id desc limit ${mostLookedAt}
        ),
        tellable as materialized (
          select e.*, m.automated is not null as is_automated, coalesce(m.subject, d.content->>'subject') as subject from looked e ${contentJoins}
          where ${isTellable}
        ),
        found as materialized (
          select e.id, e.type, e.written_by, e.occurred_at, e.subject, tried.attempts,
            last.attempted_at, last.status, last.error, last.latency_ms,
            case when o.state = 'waiting' then o.due_at end as next_at,
            case when o.subject_id is not null then 'pending' when tried.answered then 'delivered'
              when tried.attempts > 0 then 'failed' else 'none' end as state
          from tellable e cross join lateral ${addressee} w cross join lateral ${tried} tried
          left join outbox o on o.subject_id = ${deliveryId}
          left join deliveries last on last.event_id = e.id and last.lane = w.lane and last.attempt = tried.attempts
          where o.subject_id is not null or tried.attempts > 0 or ${endpointSubscribes}
        ),
        looked_to as (select id, written_by from looked order by written_by, id limit 1)
        select (select count(*) from looked) as "lookedAt", (select id from looked_to) as "lookedToId",
          (select written_by::text from looked_to) as "lookedToWrittenBy", shown.*
        from (select) one left join (
          select id, type, written_by::text as "writtenBy", state, attempts, attempted_at as "lastAttemptAt",
            status as "lastStatus", error as "lastError", next_at as "nextAttemptAt", occurred_at as "occurredAt", subject,
            latency_ms as "lastLatencyMs"
          from found where ${state ?? null}::text is null or state = ${state ?? null}
          order by found.written_by desc, found.id desc limit ${limit}
        ) shown on true
        order by ${numberOf(sql`shown."writtenBy"`)} desc, shown.id desc`,
  );
  const [first] = rows;
  const isAll = (first?.lookedAt ?? 0) < mostLookedAt;
  const { lookedToId: id = null, lookedToWrittenBy: writtenBy = null } = first ?? {};
  return {
    rows: rows.flatMap(({ lookedAt: _at, lookedToId: _id, lookedToWrittenBy: _by, ...row }) =>
      row.id === null ? [] : [row],
    ),
    lookedTo: isAll || id === null || writtenBy === null ? undefined : { id, writtenBy },
  };
}
