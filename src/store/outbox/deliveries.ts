import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { endOfPromises, endpointOfPromiseId, promiseIdOf } from "../../domain/events/promise-id.ts";
import { type Selected, selected } from "../columns.ts";
import { endpointOfPromise } from "../events/fan-out.ts";
import { type Nullable, type ToldEventRow, toldFields, toldJoins } from "../events/told.ts";
import { deliveries, endpoints } from "../schema.ts";
import { claimStatement } from "./claim-statement.ts";
import { type Claim, type Claimed, type ClaimedItem, type ClaimedRow, claimedFields, claimedOf } from "./claims.ts";

const ofEndpoint = selected(endpoints, "w", [
  ...([
    "url",
    "secret",
    "previousSecret",
    "previousSecretUntil",
    "disabledAt",
    "failingSince",
    "answeredAt",
    "include",
  ] as const),
]);

/** A claimed promise with all that its delivery says. Fields are null where what they tell of is gone. */
export type ClaimedDelivery = ClaimedItem & {
  eventId: string;
  /** Null: the default endpoint. */
  endpointId: string | null;
} & Nullable<ToldEventRow> &
  Nullable<Selected<typeof ofEndpoint> & { webhookId: string }>;

/**
 * Claims events and reads what their deliveries need in the same statement: a process that dies has then either not
 * counted the attempt or is about to write it on the wire, and receivers see no gap in their numbers.
 */
export async function claimDeliveries(db: Db, claim: Claim): Promise<Claimed<ClaimedDelivery>> {
  const rows = await query<ClaimedDelivery & ClaimedRow>(
    db,
    claimStatement(
      claim,
      sql`select ${claimedFields}, coalesce(claimed.event_id, claimed.subject_id) as "eventId", claimed.endpoint_id as "endpointId",
            ${toldFields}, ${ofEndpoint}, w.webhook_id as "webhookId"
          from claimed
          left join events e on e.id = coalesce(claimed.event_id, claimed.subject_id)
          ${toldJoins}
          left join lateral (${endpointOfPromise("claimed.endpoint_id", "claimed.account_id")}) w on true`,
    ),
  );
  return claimedOf(rows);
}

const loggedFields = selected(deliveries, "d", ["attempt", "attemptedAt", "status", "latencyMs", "error", "response"]);

export interface DeliveryLog {
  accountId: string;
  eventId: string;
  /** Behind this attempt; undefined: from the first. */
  after: { endpointId: string | null; attempt: number } | undefined;
  limit: number;
}

/** An attempt, and at which endpoint: null where that was a default one that is no more. */
export type LoggedDelivery = Selected<typeof loggedFields> & { endpointId: string | null; webhookId: string | null };

/** The attempts at an event: those at the default endpoint, then those at each other, the first first. */
export async function listDeliveries(
  db: Db,
  { accountId, eventId, after, limit }: DeliveryLog,
): Promise<LoggedDelivery[]> {
  const last = after && promiseIdOf(eventId, after.endpointId);
  const rows = await query<Selected<typeof loggedFields> & { promiseId: string; defaultId: string | null }>(
    db,
    sql`select ${loggedFields}, d.event_id as "promiseId", (select id from webhooks where account_id = ${accountId}) as "defaultId"
        from deliveries d where d.event_id >= ${eventId} and d.event_id < ${endOfPromises(eventId)}
        and (d.event_id, d.attempt) > (${last ?? ""}, ${after?.attempt ?? 0}) order by d.event_id, d.attempt limit ${limit}`,
  );
  return rows.map(({ promiseId, defaultId, ...attempt }) => {
    const endpointId = endpointOfPromiseId(promiseId);
    return { ...attempt, endpointId, webhookId: endpointId ?? defaultId };
  });
}
