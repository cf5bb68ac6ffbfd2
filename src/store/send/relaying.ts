import { type SQL, sql } from "drizzle-orm";
import { arrayOf, type Db, query, statement } from "../../database/db.ts";
import type { StoredFailure } from "../../domain/outcome.ts";
import type { LetterOutcome } from "../../domain/send/letter.ts";
import type { RecipientAttempt } from "../../domain/send/recipient-attempt.ts";
import type { RecipientOutcome } from "../../domain/send/recipients/recipient-outcome.ts";
import type { SuppressionReason } from "../../domain/send/suppressed.ts";
import { type Selected, selected } from "../columns.ts";
import { eventsAndDeliveries, hasDeliveries } from "../events/fan-out.ts";
import { messages } from "../schema.ts";
import { keptNames, type Named } from "./message-names.ts";
import { attemptsWith, decidedRecipients } from "./recipients.ts";
import {
  addedSuppressions,
  foundSuppressions,
  type Suppressing,
  suppressionEvents,
  suppressionOf,
} from "./suppressions.ts";

const messageFields = selected(messages, "m", [
  "id",
  "createdAt",
  "rfcMessageId",
  "fromAddr",
  "fromName",
  "replyTo",
  "subject",
  "bodyText",
  "bodyHtml",
  "attachmentCount",
  "inReplyTo",
  "referenceIds",
  "autoSubmitted",
  "headers",
]);

export interface RelayedRecipient extends Pick<RecipientOutcome, "address" | "name" | "type" | "status"> {
  position: number;
  destination: number;
  /** The reason why no mail may be sent to this address; null if mail may be sent. */
  suppressedBy: SuppressionReason | null;
}

/** A message with all fields of its mail except for the attachments. */
export type RelayedMessage = Selected<typeof messageFields> & { recipients: RelayedRecipient[] };

/** Reads the messages of claimed rows with the suppressions of their recipients. It runs after the claim, so that earlier ones count. */
export function listRelayedMessages(
  db: Db,
  asked: readonly { id: string; accountId: string }[],
  at: Date,
): Promise<RelayedMessage[]> {
  return messagesOfClaims(db, { asked: JSON.stringify(asked), at });
}

const messagesOfClaims = statement<RelayedMessage>(sql`select ${messageFields}, (
          select json_agg(json_build_object('position', r.position, 'destination', r.destination, 'address', r.address,
              'name', r.name, 'type', r.type, 'status', r.status, 'suppressedBy', suppression.reason) order by r.position)
          from recipients r
          left join lateral (${suppressionOf(
            sql`asked."accountId"`,
            sql`m.inbox_id`,
            lowerCase(sql`r.address`),
            sql.placeholder("at"),
          )}) suppression on true
          where r.message_id = m.id
        ) as recipients
        from json_to_recordset(${sql.placeholder("asked")}::json) as asked (id text, "accountId" text)
        cross join lateral (select * from messages where id = asked.id limit 1) m`);

/** Makes only ASCII letters lower case, whatever the locale of the database: in a Turkish one, `I` would become a dotless i. */
function lowerCase(address: SQL): SQL {
  return sql`lower(${address} collate "C") collate "default"`;
}

/** The result of an attempt to send a message to one of its destinations. */
export interface RelaySettlement {
  subjectId: string;
  messageId: string;
  /** Whether the message has other rows in the outbox. */
  isShared: boolean;
  attempt: number;
  at: Date;
  /** The ids of the events that may follow: `message.sent` and `message.failed`. */
  sentEventId: string;
  failedEventId: string;
  /** When the next attempt is due; null if there will be none. */
  dueAt: Date | null;
  /** The recipients that were tried, or whose result is known without an attempt. */
  outcomes: readonly SettledRecipient[];
  /** Whether nothing was tried, because the mail host was busy. This does not count as an attempt. */
  isUntried: boolean;
  /** Whether the content was sent and no answer came, so that the mail may have been delivered. */
  isUnsure: boolean;
  /** The failure of the first recipient who waits for the next attempt; null if there is none. */
  lastError: string | null;
  /** The outcome, if it was a letter. A letter has no rows besides that in the outbox. */
  letter?: LetterOutcome | undefined;
}

export interface SettledRecipient extends Suppressing, Named {
  position: number;
  /** Null for a recipient who waits for the next attempt. */
  status: "sent" | "failed" | null;
  providerMessageId: string | null;
  failure: StoredFailure | null;
  /** Null without an attempt. */
  attempt: RecipientAttempt | null;
}

/**
 * Locks messages until the end of the transaction, in the order of their ids, as reports do. Rows of one message are settled one after the
 * other: each settlement must see the results of the others to know the status of the whole message.
 */
export async function lockMessages(tx: Db, ids: readonly string[]): Promise<void> {
  await query(tx, sql`select from messages where id = any(${arrayOf("text", ids)}) order by id for no key update`);
}

export interface SettledRelays {
  /** The subject ids of the settlements whose claims were in force. */
  inForce: Set<string>;
  /** The subject ids of the settlements whose messages have a new event. */
  withEvent: Set<string>;
  hasDeliveries: boolean;
  /** The ids of the suppressions that are new. */
  suppressed: readonly string[];
}

/**
 * Writes the results of attempts in one statement: the recipients, their messages, and the events. It deletes the outbox rows, or sets the
 * time of their next attempt. Only a claim that is in force may write, because another process may have claimed the row after the lease
 * ended. If a message has several rows in the outbox, or a recipient waits for the next attempt, the caller must lock all messages
 * (`lockMessages`): a recipient's row is written only under the lock of its message, which the statement takes itself for a message whose
 * status changes.
 */
export async function settleRelays(db: Db, settlements: readonly RelaySettlement[]): Promise<SettledRelays> {
  const outcomes = settlements.flatMap(({ subjectId, outcomes }) => outcomes.map((each) => ({ subjectId, ...each })));
  const rows = await settled(db, {
    settlements: JSON.stringify(settlements.map(({ outcomes: _apart, ...settlement }) => settlement)),
    outcomes: JSON.stringify(outcomes),
  });
  const [first] = rows;
  return {
    inForce: new Set(rows.map(({ subjectId }) => subjectId)),
    withEvent: new Set(rows.flatMap(({ subjectId, hasEvent }) => (hasEvent ? [subjectId] : []))),
    hasDeliveries: first?.hasDeliveries === true,
    suppressed: first?.suppressed ?? [],
  };
}

interface SettledRow {
  subjectId: string;
  hasEvent: boolean;
  hasDeliveries: boolean;
  suppressed: string[] | null;
}

const settled = statement<SettledRow>(sql`with settled as materialized (
          select * from json_to_recordset(${sql.placeholder("settlements")}::json) as settled ("subjectId" text, "messageId" text,
            attempt int, at timestamptz, "sentEventId" text, "failedEventId" text, "dueAt" timestamptz,
            "isUntried" boolean, "isUnsure" boolean, "lastError" text)
        ),
        done as (
          delete from outbox o using settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is null
          returning settled.*, o.account_id, o.unsure or "isUnsure" as unsure
        ),
        put_off as (
          update outbox o set state = 'waiting', due_at = "dueAt", attempt = o.attempt - "isUntried"::int, unsure = unsure or "isUnsure",
            last_error = "lastError" from settled
          where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is not null
          returning settled.*, o.account_id, o.unsure
        ),
        in_force as materialized (select * from done union all select * from put_off),
        tried as materialized (
          select in_force."messageId" as message_id, recipient.position, recipient.status, recipient.attempt,
            recipient."providerMessageId" as provider_message_id, false as unsure,
            -- A later cancellation of a retry must tell it.
            case when recipient.status = 'failed' and in_force.unsure then recipient.failure || '{"mayHaveBeenSent": true}'
              else recipient.failure end as failure, in_force.account_id, in_force.at,
            in_force."sentEventId" as sent_event, in_force."failedEventId" as failed_event, recipient.names, recipient.suppression
          from in_force join json_to_recordset(${sql.placeholder("outcomes")}::json) as recipient ("subjectId" text,
            position smallint, status text, "providerMessageId" text, failure jsonb, names jsonb, suppression jsonb,
            attempt jsonb) using ("subjectId")
        ),
        outcome as materialized (select * from tried where status is not null),
        waits as (
          update recipients r set attempts = ${attemptsWith(sql`tried.attempt`)} from tried
          where r.message_id = any(array(select message_id from tried where status is null)) and tried.status is null
          and r.message_id = tried.message_id and r.position = tried.position and r.status = 'pending'
        ),
        ${decidedRecipients},
        ${keptNames(sql`outcome`)},
        ${foundSuppressions(sql`outcome`)},
        new_event as materialized (${suppressionEvents} union all select * from message_event),
        ${eventsAndDeliveries}
        select "subjectId", "messageId" in (select message_id from new_event) as "hasEvent", ${hasDeliveries},
          ${addedSuppressions} as suppressed
        from in_force`);
