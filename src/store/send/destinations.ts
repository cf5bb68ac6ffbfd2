import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { StoredFailure } from "../../domain/outcome.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import type { SuppressionReason } from "../../domain/send/suppressed.ts";
import { asJson, type Selected, selected } from "../columns.ts";
import { promisedKinds, tellEvents } from "../events/fan-out.ts";
import type { OutboxKind } from "../outbox/items.ts";
import { messages, recipients } from "../schema.ts";
import { addedSuppressions, foundSuppressions, type Suppressing, suppressionNews } from "./found-suppressions.ts";
import { keptNames, type Named } from "./other-names.ts";
import { hasRecipients, recipientsOf } from "./recipients.ts";
import { lowerCase, relayedFields } from "./relaying.ts";
import { suppressionOf } from "./suppressions.ts";

const moreFields = selected(messages, "m", ["toAddrs", "cc", "headers", "metadata"]);

const recipientFields = asJson(recipients, "r", [
  ...(["position", "destination", "address", "name", "type", "status"] as const),
]);

export type RelayedRecipient = Pick<RecipientOutcome, "address" | "name" | "type" | "status"> & {
  position: number;
  /** Which row of the outbox he is of. */
  destination: number;
};

/** What a mail is composed of that an older process would send wrongly, with all to whom it goes. */
export type RelayedToSeveral = Selected<typeof relayedFields> &
  Selected<typeof moreFields> & {
    /** Null where there is one without a name: the message's own row says it all. */
    recipients: RelayedRecipient[] | null;
    /** Why nothing may be sent to whom, by his address in lower case. Null: there is nobody. */
    suppressed: Record<string, SuppressionReason> | null;
  };

/** Who is suppressed is read behind the claim: what is claimed after a suppression was committed goes nowhere. */
export function listRelayedToSeveral(db: Db, ids: readonly string[], at: Date): Promise<RelayedToSeveral[]> {
  return query(
    db,
    sql`select ${relayedFields}, ${moreFields}, case when ${hasRecipients} then ${recipientsOf("m", recipientFields)} end as recipients,
          ${suppressedOfMessage(at)} as suppressed
        from messages m where m.id = any(array(select json_array_elements_text(${JSON.stringify(ids)}::json)))`,
  );
}

function suppressedOfMessage(at: Date): SQL {
  return sql`(select json_object_agg(s.address, s.reason) from inboxes i
    cross join lateral (select address from recipients where message_id = m.id and status = 'pending' union select m.to_addr) whom
    cross join lateral (${suppressionOf(sql`i.account_id`, sql`m.inbox_id`, lowerCase(sql`whom.address`), at)}) s
    where i.id = m.inbox_id)`;
}

/** What an attempt at one destination of a message came to. */
export interface DestinationSettlement {
  subjectId: string;
  messageId: string;
  attempt: number;
  at: Date;
  /** Ids of the events that may come of it: that the message is sent, and that it has failed for somebody. */
  sentEventId: string;
  failedEventId: string;
  /** Null: there is nothing more to do. */
  dueAt: Date | null;
  /** Of those for whom it is decided. */
  outcomes: readonly SettledRecipient[];
  /** The mail host was busy: this counts as no attempt. */
  isUntried: boolean;
  /** The content had gone out and no answer came: the mail may have been sent by this attempt. */
  isUnsure: boolean;
  /** Why it is put off: what was said of the first of those who wait. Null where it is not. */
  lastError: string | null;
}

export interface SettledRecipient extends Suppressing, Named {
  position: number;
  status: "sent" | "failed";
  providerMessageId: string | null;
  failure: StoredFailure | null;
}

/**
 * Holds the messages to the end of the transaction. Destinations of one message are settled one after the other: each must see what
 * came of the others, to tell what has become of the whole.
 */
export async function lockMessages(tx: Db, ids: readonly string[]): Promise<void> {
  await query(
    tx,
    sql`select from messages where id = any(array(select json_array_elements_text(${JSON.stringify(ids)}::json)))
        order by id for no key update`,
  );
}

/** What `decided` and `outcome` make of each message: its recipients, and it as a whole. */
export const wholeMessages = sql`become as materialized (
      select r.message_id, r.position, r.address, r.name, r.type, decided.position is not null as is_new,
        coalesce(decided.status, r.status) as status,
        coalesce(decided.provider_message_id, r.provider_message_id) as provider_message_id,
        coalesce(decided.failure, r.failure) as failure
      from recipients r left join decided on decided.message_id = r.message_id and decided.position = r.position
      where r.message_id in (select message_id from outcome)
      union all
      select m.id, 0, m.to_addr, null, 'to', m.status = 'pending', outcome.status, outcome."providerMessageId", outcome.failure
      from outcome join messages m on m.id = outcome.message_id
      where not exists (select from recipients r where r.message_id = m.id)
    ),
    whole as materialized (
      select message_id, count(*) as count,
        case when bool_or(status = 'sent') then 'sent' when bool_or(status = 'pending') then 'pending' else 'failed' end as status,
        not bool_or(status = 'pending') and bool_or(status = 'failed') as has_failed,
        (array_agg(provider_message_id order by position) filter (where is_new and status = 'sent'))[1] as provider_message_id,
        (array_agg(failure order by position) filter (where status = 'failed'))[1] as failure,
        jsonb_agg(jsonb_build_object('address', address, 'name', name, 'type', type, 'status', status,
          'providerMessageId', provider_message_id, 'failure', failure) order by position) as recipients
      from become group by message_id having bool_or(is_new)
    )`;

interface SettledRow {
  subjectId: string;
  told: string[] | null;
  promised: OutboxKind[] | null;
  suppressed: string[] | null;
}

/**
 * Writes down what attempts came to: the recipients, the message that they make, the events that tell it, and the end of the outbox
 * rows or their next attempt, in one statement. Only a claim that is in force may write. A message is sent with its first recipient
 * who is, and never anything else after that; its failure is that of the first recipient who failed, also beside `sent`. Answers whose
 * claims were in force, and the messages of which something was told.
 */
export async function settleDestinations(
  tx: Db,
  settlements: readonly DestinationSettlement[],
): Promise<{ inForce: Set<string>; told: Set<string>; promised: OutboxKind[]; suppressed: string[] }> {
  const rows = await query<SettledRow>(
    tx,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify(settlements)}::json) as settled ("subjectId" text, "messageId" text,
            attempt int, at timestamptz, "sentEventId" text, "failedEventId" text, "dueAt" timestamptz, outcomes json,
            "isUntried" boolean, "isUnsure" boolean, "lastError" text)
        ),
        done as (
          delete from outbox o using settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is null
          returning o.subject_id, o.account_id
        ),
        put_off as (
          update outbox o set state = 'waiting', due_at = "dueAt", attempt = o.attempt - "isUntried"::int, unsure = unsure or "isUnsure",
            last_error = "lastError" from settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is not null
          returning o.subject_id, o.account_id
        ),
        in_force as (select * from done union all select * from put_off),
        outcome as materialized (
          select settled."messageId" as message_id, in_force.account_id, each.* from settled join in_force on in_force.subject_id = settled."subjectId"
          cross join lateral json_to_recordset(settled.outcomes) as each
            (position smallint, status text, "providerMessageId" text, failure jsonb,
              names jsonb, suppression jsonb)
        ),
        ${keptNames(sql`outcome`)},
        decided as (
          update recipients r set status = outcome.status, provider_message_id = outcome."providerMessageId",
            failure = outcome.failure from outcome
          where r.message_id = outcome.message_id and r.position = outcome.position and r.status = 'pending'
          returning r.message_id, r.position, r.status, r.provider_message_id, r.failure
        ),
        ${wholeMessages},
        marked as (
          update messages m set status = whole.status, failure = whole.failure,
            provider_message_id = coalesce(m.provider_message_id, whole.provider_message_id)
          from whole where m.id = whole.message_id
          returning m.id, m.inbox_id, m.thread_id, m.provider_message_id
        ),
        news as (
          select event.*, before.status as was, settled.*, in_force.account_id
          from whole event
          join messages before on before.id = event.message_id
          cross join lateral (select "sentEventId" as sent_event, "failedEventId" as failed_event, at, "subjectId"
            from settled where settled."messageId" = event.message_id
              and settled."subjectId" in (select subject_id from in_force) order by "sentEventId" limit 1) settled
          join in_force on in_force.subject_id = settled."subjectId"
        ),
        ${foundSuppressions(sql`outcome`)},
        told as materialized (
          ${suppressionNews}
          union all
          select told.id, news.account_id, marked.inbox_id, marked.thread_id, null::text as message_id,
            'message.' || told.status as type, news.at as occurred_at,
            jsonb_build_object('messageId', marked.id, 'status', news.status, 'providerMessageId', marked.provider_message_id)
              || case when told.status = 'sent' or news.failure is null then '{}' else jsonb_build_object('failure', news.failure) end
              || jsonb_build_object('recipients', news.recipients) as data,
            false as is_automated
          from news join marked on marked.id = news.message_id
          cross join lateral (
            select news.sent_event as id, 'sent' as status where news.status = 'sent' and news.was = 'pending'
            union all
            select news.failed_event, 'failed' where news.has_failed
          ) told
        ),
        ${tellEvents}
        select subject_id as "subjectId", ${promisedKinds}, (select array_agg(distinct data->>'messageId') from told) as told,
          ${addedSuppressions} as suppressed
        from in_force`,
  );
  const [first] = rows;
  return {
    inForce: new Set(rows.map(({ subjectId }) => subjectId)),
    told: new Set(first?.told ?? []),
    promised: first?.promised ?? [],
    suppressed: first?.suppressed ?? [],
  };
}
