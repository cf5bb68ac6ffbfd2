import { sql } from "drizzle-orm";
import { type Db, jsonb, query } from "../../database/db.ts";
import type { StoredFailure } from "../../domain/outcome.ts";
import { promisedKinds, tellEvents } from "../events/fan-out.ts";
import type { OutboxKind } from "../outbox/items.ts";
import type { messages } from "../schema.ts";
import { wholeMessages } from "./destinations.ts";

export interface Cancellation {
  accountId: string;
  messageId: string;
  /** When it is canceled, and the id of the event that tells it. */
  at: Date;
  eventId: string;
  failure: StoredFailure;
}

export interface Canceled {
  inboxId: string;
  /** As it was before. */
  status: (typeof messages.$inferSelect)["status"];
  /** Undefined: there is nothing left to cancel. */
  outcome: "canceled" | "in_progress" | undefined;
  /** The kinds of what was promised by it. */
  promised: OutboxKind[] | null;
}

/**
 * Takes a mail out of the outbox: all of its rows that are there, or none. A row decides between this and a claim, as it does between
 * two claims: what another has locked, or had claimed in the meantime, counts as an attempt in hand. The attempt of each row is the
 * version by which what was read of the recipients is known to be so still. Undefined where the account has no such message.
 */
export async function markCanceled(db: Db, cancellation: Cancellation): Promise<Canceled | undefined> {
  const { accountId, messageId, at, eventId, failure } = cancellation;
  const [row] = await query<Canceled>(
    db,
    sql`with message as materialized (
          select m.id, m.status, m.inbox_id, m.status = 'pending'
              or exists (select from recipients r where r.message_id = m.id and r.status = 'pending') as is_open
          from messages m join inboxes i on i.id = m.inbox_id
          where m.id = ${messageId} and i.account_id = ${accountId} and i.deleted_at is null
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
          select id as message_id, 'failed' as status, null::text as "providerMessageId", ${jsonb(failure)} as failure
          from message where exists (select from free)
        ),
        decided as (
          update recipients r set status = outcome.status, failure = outcome.failure from outcome
          where r.message_id = outcome.message_id and r.status = 'pending'
          returning r.message_id, r.position, r.status, r.provider_message_id, r.failure
        ),
        ${wholeMessages},
        marked as (
          update messages m set status = whole.status,
            failure = whole.failure || case when (select unsure from free) then '{"mayHaveBeenSent": true}' else '{}' end::jsonb
          from whole where m.id = whole.message_id
          returning ${eventId}::text as id, ${accountId}::text as account_id, m.inbox_id, m.thread_id, null::text as message_id,
            'message.failed' as type, ${at}::timestamptz as occurred_at,
            jsonb_build_object('messageId', m.id, 'status', m.status, 'providerMessageId', m.provider_message_id, 'failure', m.failure,
              'recipients', whole.recipients) as data,
            false as is_automated
        ),
        told as materialized (select * from marked),
        ${tellEvents}
        select status, inbox_id as "inboxId", case when exists (select from free) then 'canceled' when exists (select from line) then 'in_progress' end as outcome,
          ${promisedKinds} from message`,
  );
  return row && { ...row, outcome: row.outcome ?? undefined };
}
