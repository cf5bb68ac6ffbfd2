import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type Selected, selected } from "../columns.ts";
import { endpointLane } from "../events/endpoints.ts";
import { contentFields, contentJoins, type EventContent, type Nullable } from "../events/event-content.ts";
import { endpointOfLane } from "../events/fan-out.ts";
import { deliveries, endpoints } from "../schema.ts";
import { claimStatement } from "./claim-statement.ts";
import { type Claim, type Claimed, type ClaimedItem, type ClaimedRow, claimedFields, claimedOf } from "./claims.ts";

const ofEndpoint = selected(endpoints, "w", [
  "url",
  "secret",
  "previousSecret",
  "previousSecretUntil",
  "disabledAt",
  "failingSince",
  "answeredAt",
  "include",
  "headers",
]);

/** A claimed delivery, with the content of its event and the fields of its endpoint. The fields are null if either was deleted. */
export type ClaimedDelivery = ClaimedItem & { eventId: string } & Nullable<EventContent> &
  Nullable<Selected<typeof ofEndpoint> & { webhookId: string }>;

/**
 * Claims deliveries, and reads the events and endpoints for their requests in the same statement. So there is little time between counting
 * an attempt and sending it: if a process dies in between, receivers see a gap in the numbers of attempts.
 */
export async function claimDeliveries(db: Db, claim: Claim): Promise<Claimed<ClaimedDelivery>> {
  const rows = await query<ClaimedDelivery & ClaimedRow>(
    db,
    claimStatement(
      claim,
      sql`select ${claimedFields}, claimed.event_id as "eventId", ${contentFields}, ${ofEndpoint}, w.webhook_id as "webhookId"
          from claimed
          left join events e on e.id = claimed.event_id
          ${contentJoins}
          left join lateral (${endpointOfLane("claimed.lane")}) w on true`,
    ),
  );
  return claimedOf(rows);
}

const loggedFields = selected(deliveries, "d", [
  "lane",
  "attempt",
  "attemptedAt",
  "status",
  "latencyMs",
  "error",
  "response",
]);

export interface DeliveryLog {
  accountId: string;
  eventId: string;
  /** The attempt that the page follows; undefined for the first page. */
  after: { lane: string; attempt: number } | undefined;
  limit: number;
}

/** An attempt to deliver an event, with the id of its endpoint, which is null for a deleted default endpoint. */
export type LoggedDelivery = Selected<typeof loggedFields> & { webhookId: string | null };

/**
 * Lists the attempts to deliver an event, by lane and then by number. The default endpoint comes first, because its lane is the id of the
 * account, and `acc_` sorts before `whk_`.
 */
export function listDeliveries(db: Db, { accountId, eventId, after, limit }: DeliveryLog): Promise<LoggedDelivery[]> {
  return query<LoggedDelivery>(
    db,
    sql`select ${loggedFields},
          case d.lane when ${accountId} then (select id from endpoints where account_id = ${accountId} and is_default)
            else d.lane end as "webhookId"
        from deliveries d where d.event_id = ${eventId}
        and (d.lane, d.attempt) > (${after?.lane ?? ""}, ${after?.attempt ?? 0}) order by d.lane, d.attempt limit ${limit}`,
  );
}

/** A delivery that the receiver answered with 2xx. */
export interface DeliveryTime {
  /** When the attempt began. */
  atMs: number;
  /** The time from the event to the answer. */
  tookMs: number;
}

/** The most attempts that `listDeliveryTimes` reads of each endpoint, and the most that it uses. */
const mostTimed = 2_000;

/**
 * Lists how long the last deliveries of an account took, of its last 2,000 attempts since an instant. It leaves out deliveries of events
 * from before that instant, such as those that somebody has redelivered by hand.
 */
export function listDeliveryTimes(db: Db, accountId: string, since: Date): Promise<DeliveryTime[]> {
  return query<DeliveryTime>(
    db,
    sql`select (extract(epoch from d.attempted_at) * 1000)::float8 as "atMs",
          greatest(0, extract(epoch from d.attempted_at - e.occurred_at) * 1000 + d.latency_ms)::float8 as "tookMs"
        from (
          select last.* from endpoints w cross join lateral (
            select * from deliveries where lane = ${endpointLane} and attempted_at >= ${since}
            order by attempted_at desc limit ${mostTimed}
          ) last where w.account_id = ${accountId} order by last.attempted_at desc limit ${mostTimed}
        ) d join events e on e.id = d.event_id
        where d.status between 200 and 299 and d.latency_ms is not null and e.occurred_at >= ${since}`,
  );
}
