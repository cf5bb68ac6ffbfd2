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

/** A claimed delivery with all that its request needs. The fields of a deleted event or endpoint are null. */
export type ClaimedDelivery = ClaimedItem & { eventId: string } & Nullable<EventContent> &
  Nullable<Selected<typeof ofEndpoint> & { webhookId: string }>;

/**
 * Claims deliveries and reads what their requests need in one statement. So a process can hardly die between counting an attempt and
 * sending it, which would show receivers a gap in the numbers of attempts.
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

/** An attempt and its endpoint, which is null for a deleted default endpoint. */
export type LoggedDelivery = Selected<typeof loggedFields> & { webhookId: string | null };

/** Lists the attempts at an event by endpoint, the first attempt first. The default endpoint comes first: `acc_` sorts before `whk_`. */
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
