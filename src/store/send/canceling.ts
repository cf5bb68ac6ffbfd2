import { type SQL, sql } from "drizzle-orm";
import { type Db, jsonb, query } from "../../database/db.ts";
import type { SentReach } from "../../domain/access/access.ts";
import type { StoredFailure } from "../../domain/outcome.ts";
import { eventsAndDeliveries, hasDeliveries } from "../events/fan-out.ts";
import { isReached } from "../reach.ts";
import type { messages } from "../schema.ts";
import { decidedRecipients } from "./recipients.ts";

export interface Cancellation {
  reach: SentReach;
  messageId: string;
  at: Date;
  /** The id of the `message.failed` event. */
  eventId: string;
  failure: StoredFailure;
}

export interface Canceled {
  inboxId: string;
  /** The status before the cancellation. */
  status: (typeof messages.$inferSelect)["status"];
  /** `in_progress`: an attempt is under way, so nothing was canceled. Undefined if there was nothing left to cancel. */
  outcome: "canceled" | "in_progress" | undefined;
  hasDeliveries: boolean;
}

/**
 * Deletes the outbox rows of a mail, all of them or none, and marks its pending recipients as failed. It deletes none if a row is running,
 * is locked by another process, or was claimed between the read and the lock, which its attempt number shows: then an attempt may be under
 * way. Undefined if there is no such message within the reach.
 */
export async function markCanceled(db: Db, cancellation: Cancellation): Promise<Canceled | undefined> {
  const { reach, messageId, at, eventId, failure } = cancellation;
  const [row] = await query<Canceled>(
    db,
    sql`with message as materialized (
          select m.id, m.status, m.inbox_id,
            exists (select from recipients r where r.message_id = m.id and r.status = 'pending') as is_open
          from messages m join inboxes i on i.id = m.inbox_id
          where m.id = ${messageId} and ${isSentReached(reach)}
        ),
        line as materialized (
          select o.subject_id, o.attempt, o.state from message cross join lateral (
            select * from outbox where subject_id >= message.id and subject_id < (message.id || '/') collate "C" and message.is_open
          ) o
        ),
        held as materialized (
          select o.subject_id, o.attempt, o.state, o.unsure from outbox o
          where o.subject_id = any(array(select subject_id from line)) for update skip locked
        ),
        free as materialized (
          select bool_or(held.unsure) as unsure from line left join held using (subject_id)
          having count(*) > 0 and bool_and(line.state <> 'running' and coalesce(held.state <> 'running' and held.attempt = line.attempt, false))
        ),
        removed as (
          delete from outbox where subject_id = any(array(select subject_id from held where exists (select from free)))
        ),
        outcome as materialized (
          select message.id as message_id, r.position, 'failed' as status, null::text as provider_message_id, ${jsonb(failure)} as failure,
            null::jsonb as attempt, free.unsure, ${reach.accountId}::text as account_id, ${at}::timestamptz as at, null::text as sent_event, ${eventId}::text as failed_event
          from message cross join free
          cross join lateral (select position from recipients where message_id = message.id and status = 'pending' order by position) r
        ),
        ${decidedRecipients},
        new_event as materialized (select * from message_event),
        ${eventsAndDeliveries}
        select status, inbox_id as "inboxId", case when exists (select from free) then 'canceled' when exists (select from line) then 'in_progress' end as outcome,
          ${hasDeliveries} from message`,
  );
  return row && { ...row, outcome: row.outcome ?? undefined };
}

/** Whether a message exists within the reach. */
export async function isMessageOf(db: Db, reach: SentReach, messageId: string): Promise<boolean> {
  const found = await query(
    db,
    sql`select from messages m join inboxes i on i.id = m.inbox_id where m.id = ${messageId} and ${isSentReached(reach)}`,
  );
  return found.length === 1;
}

/** Whether a message `m` in the inbox `i` is within a reach. */
function isSentReached({ sentBy, ...reach }: SentReach): SQL {
  return sentBy === undefined ? isReached(reach) : sql`${isReached(reach)} and m.sent_by = ${sentBy}`;
}
