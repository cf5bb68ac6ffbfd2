import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { columnNames, fieldsOf, replaced, type Selected, selected } from "../columns.ts";
import { endpointOfPromise } from "../events/fan-out.ts";
import { type Nullable, type ToldEventRow, toldFields, toldJoins } from "../events/told.ts";
import { deliveries, endpoints } from "../schema.ts";
import { claimStatement } from "./claim-statement.ts";
import { type Claim, type Claimed, type ClaimedItem, type ClaimedRow, claimedFields, claimedOf } from "./claims.ts";

const ofEndpoint = selected(endpoints, "w", [
  ...(["url", "secret", "previousSecret", "previousSecretUntil", "disabledAt", "failingSince", "include"] as const),
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
  /** The address that asked not to be called again. */
  disables: { accountId: string; url: string; at: Date } | null;
}

/**
 * Writes down what attempts came to, in one statement: a row of the log for each, and the end of its outbox row or the next attempt.
 * Only the claim that is in force may change the outbox; the log takes every attempt that was made, also of a process that was
 * stopped past its lease, and forgets the attempts that are too many. Answers whose claim was in force.
 */
export async function settleDeliveries(db: Db, settlements: readonly DeliverySettlement[]): Promise<Set<string>> {
  const values = settlements.map(({ logged, disables, ...settled }) => ({
    ...settled,
    ...logged,
    accountId: disables?.accountId,
    url: disables?.url,
    disabledAt: disables?.at,
  }));
  const rows = await query<{ subjectId: string }>(
    db,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify(values)}::json) as settled ("subjectId" text, attempt int,
            "dueAt" timestamptz, "isForgiven" boolean, "attemptedAt" timestamptz, status int, "latencyMs" int, error text, response text,
            "accountId" text, url text, "disabledAt" timestamptz)
        ),
        done as (
          delete from outbox o using settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is null
          returning o.subject_id
        ),
        put_off as (
          update outbox o set state = 'waiting', due_at = "dueAt",
            forgiven_attempts = forgiven_attempts + settled."isForgiven"::int
          from settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is not null
          returning o.subject_id
        ),
        logged as (
          ${attemptInto} from settled where "attemptedAt" is not null
          on conflict (event_id, attempt) do update set ${attemptReplaced}
        ),
        forgotten as (
          delete from deliveries d using settled
          where settled.attempt > ${keptAttempts} and d.event_id = settled."subjectId" and d.attempt <= settled.attempt - ${keptAttempts}
        ),
        disabled as (
          update webhooks w set disabled_at = settled."disabledAt" from settled
          where settled."accountId" = w.account_id and settled.url = w.url and w.disabled_at is null
        )
        select subject_id as "subjectId" from done union all select subject_id from put_off`,
  );
  return new Set(rows.map(({ subjectId }) => subjectId));
}

const loggedFields = selected(deliveries, "d", ["attempt", ...attemptFields]);

/** The attempts at an event behind one, the first first. */
export function listDeliveries(
  db: Db,
  { eventId, after, limit }: { eventId: string; after: number; limit: number },
): Promise<Omit<DeliveryRow, "eventId">[]> {
  return query(
    db,
    sql`select ${loggedFields} from deliveries d
        where d.event_id = ${eventId} and d.attempt > ${after} order by d.attempt limit ${limit}`,
  );
}
