import { type SQL, sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import type { StoredFailure } from "../../domain/outcome.ts";
import type { SuppressionReason } from "../../domain/send/suppressed.ts";
import { type Selected, selected } from "../columns.ts";
import { promisedKinds, tellEvents } from "../events/fan-out.ts";
import type { OutboxKind } from "../outbox/items.ts";
import { recordSet } from "../rows.ts";
import { messages, outbox } from "../schema.ts";
import { addedSuppressions, foundSuppressions, type Suppressing, suppressionNews } from "./found-suppressions.ts";
import { keptNames, type Named } from "./other-names.ts";
import { suppressionOf } from "./suppressions.ts";

export const relayedFields = selected(messages, "m", [
  ...(["id", "status", "createdAt", "rfcMessageId", "fromAddr", "fromName", "toAddr", "replyTo", "subject"] as const),
  ...(["bodyText", "bodyHtml", "inReplyTo", "referenceIds", "autoSubmitted"] as const),
]);

/** What a mail is composed of. */
export type RelayedMessage = Selected<typeof relayedFields>;

/** With why nothing may be sent to its recipient; null: it may. */
export type ClaimedMessage = RelayedMessage & { suppressedBy: SuppressionReason | null };

/**
 * The messages of claimed rows. Whether a recipient is suppressed is read behind the claim: what is claimed after a suppression was
 * committed goes nowhere.
 */
export function listRelayedMessages(
  db: Db,
  items: readonly { subjectId: string; accountId: string }[],
  at: Date,
): Promise<ClaimedMessage[]> {
  return query(
    db,
    sql`select ${relayedFields}, suppressed.reason as "suppressedBy"
        from ${recordSet(outbox, items, ["subjectId", "accountId"])}
        cross join lateral (select * from messages where id = row."subjectId" limit 1) m
        left join lateral (${suppressionOf(sql`row."accountId"`, sql`m.inbox_id`, lowerCase(sql`m.to_addr`), at)}) suppressed on true`,
  );
}

/** By the letters of ASCII alone, whatever the language of the database: some have an i without a dot. */
export function lowerCase(address: SQL): SQL {
  return sql`lower(${address} collate "C") collate "default"`;
}

/** What an attempt to relay a message came to. */
export interface RelaySettlement extends Suppressing, Named {
  subjectId: string;
  attempt: number;
  /** When it came to that, and the id of the event that tells it where it is the end. */
  at: Date;
  eventId: string;
  /** Null: there is nothing more to do. */
  dueAt: Date | null;
  /** Null where the message stays pending, or is there no more. */
  status: "sent" | "failed" | null;
  providerMessageId: string | null;
  failure: StoredFailure | null;
  /** The mail host was busy: this counts as no attempt. */
  isUntried: boolean;
  /** The content had gone out and no answer came: the mail may have been sent by this attempt. */
  isUnsure: boolean;
  /** Why it is put off; null where it is not. */
  lastError: string | null;
}

/**
 * Writes down what attempts came to: the message's status, the event that tells it and the end of its outbox row, or the next attempt,
 * in one statement. Only the claim that is in force may write: a process that was stopped past its lease must not undo what another
 * did meanwhile. Answers whose claim was in force, the kinds of what was promised, and the suppressions that are new.
 */
export async function settleRelays(
  db: Db,
  settlements: readonly RelaySettlement[],
): Promise<{ inForce: Set<string>; promised: OutboxKind[]; suppressed: string[] }> {
  const rows = await query<{ subjectId: string; promised: OutboxKind[] | null; suppressed: string[] | null }>(
    db,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify(settlements)}::json) as settled ("subjectId" text, attempt int,
            at timestamptz, "eventId" text, "dueAt" timestamptz, status text, "providerMessageId" text, failure jsonb,
            "isUntried" boolean, "isUnsure" boolean, names jsonb, suppression jsonb, "lastError" text)
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
          returning o.subject_id
        ),
        marked as (
          update messages m set status = settled.status, failure = settled.failure,
            provider_message_id = coalesce(settled."providerMessageId", m.provider_message_id)
          from settled join done on done.subject_id = settled."subjectId"
          where m.id = settled."subjectId" and m.status = 'pending' and settled.status is not null
          returning settled."eventId" as id, done.account_id, m.inbox_id, m.thread_id, null::text as message_id,
            'message.' || settled.status as type, settled.at as occurred_at,
            jsonb_build_object('messageId', m.id, 'status', settled.status, 'providerMessageId', settled."providerMessageId")
              || case when settled.failure is null then '{}' else jsonb_build_object('failure', settled.failure) end as data,
            false as is_automated
        ),
        outcome as (
          select done.account_id, subject_id as message_id, names, suppression
          from settled join done on done.subject_id = settled."subjectId"
        ),
        ${keptNames(sql`outcome`)},
        ${foundSuppressions(sql`outcome`)},
        told as materialized (select * from marked union all ${suppressionNews}),
        ${tellEvents}
        select subject_id as "subjectId", ${promisedKinds}, ${addedSuppressions} as suppressed from (
          select subject_id from done union all select subject_id from put_off
        ) settled`,
  );
  const [first] = rows;
  return {
    inForce: new Set(rows.map(({ subjectId }) => subjectId)),
    promised: first?.promised ?? [],
    suppressed: first?.suppressed ?? [],
  };
}
