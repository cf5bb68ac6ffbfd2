import { type SQL, sql } from "drizzle-orm";
import type { SuppressionReason } from "../../domain/send/suppressed.ts";
import { automaticSuppressions, type Suppression } from "./suppressions.ts";

/** What an attempt makes known of a recipient, and the id of the event that tells it. */
export interface NewSuppression extends Omit<Suppression, "messageId" | "accountId"> {
  eventId: string;
}

/** What keeps mail from its recipient, as an attempt found it. */
export type Suppressing = { suppression?: NewSuppression | undefined; suppressedBy?: SuppressionReason | undefined };

/**
 * What attempts make known of recipients, as parts of the statement that settles them: `found`, of a set that has `account_id`,
 * `message_id` and `suppression` as JSON, and `suppressed`, the ids of those that are in force by it.
 */
export function foundSuppressions(settled: SQL): SQL {
  return sql`found as materialized (
      select found.*, settled.account_id as "accountId", m.id as "messageId", m.inbox_id as "ofInbox", m.thread_id as "ofThread",
        m.provider_message_id as "providerMessageId"
      from ${settled} settled join messages m on m.id = settled.message_id
      cross join lateral jsonb_to_record(settled.suppression) as found (id text, address text, "inboxId" text, reason text,
        detail text, "createdAt" timestamptz, "expiresAt" timestamptz, "eventId" text)
      where settled.suppression is not null
    ),
    suppressed as (${automaticSuppressions(sql`(select distinct on ("accountId", address, "inboxId") * from found) row`)})`;
}

/** The ids of those that were not there before. */
export const addedSuppressions = sql`(select array_agg(id) from found where id in (select id from suppressed))`;

/** The events of the addresses in `found` that were not suppressed before, as rows for `told`. */
export const suppressionNews = sql`select "eventId" as id, "accountId" as account_id, "ofInbox" as inbox_id,
    "ofThread" as thread_id, null::text as message_id, 'suppression.added' as type, "createdAt" as occurred_at,
    jsonb_build_object('messageId', "messageId", 'providerMessageId', "providerMessageId", 'suppression',
      jsonb_build_object('id', id, 'address', address, 'inboxId', nullif("inboxId", ''), 'reason', reason,
        'expiresAt', to_char("expiresAt" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) as data, false as is_automated
  from found where id in (select id from suppressed)`;
