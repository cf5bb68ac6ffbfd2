import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type Selected, selected } from "../columns.ts";
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
