import { type SQL, sql } from "drizzle-orm";
import { keptAttempts } from "../../domain/send/recipient-attempt.ts";
import { asJson } from "../columns.ts";
import { recipients } from "../schema.ts";

const shownFields = asJson(recipients, "r", [
  "address",
  "name",
  "type",
  "status",
  "providerMessageId",
  "failure",
  "delivery",
]);

/**
 * Selects the recipients of an outbound message as JSON, in the order of their positions. The key has them in that order, while an
 * aggregate with an order sorts each group.
 */
export function recipientsOf(message: string, fields: SQL = shownFields): SQL {
  return sql`array_to_json(array(select ${fields} from recipients r where r.message_id = ${sql.raw(message)}.id order by r.position))`;
}

/** Selects the addresses of a message's recipients as one text, separated by spaces, in any order. */
export function addressesOf(messageId: string): SQL {
  return sql.raw(`(select string_agg(address, ' ') from recipients where message_id = ${messageId})`);
}

/** The attempts of a recipient `r` with one more, which may be null. The row keeps the last ones. */
export function attemptsWith(attempt: SQL): SQL {
  const last = sql.raw(`'$[last - ${keptAttempts - 1} to last]'`);
  return sql`case when ${attempt} is null then r.attempts
    else jsonb_path_query_array(coalesce(r.attempts, '[]') || ${attempt}, ${last}) end`;
}

/**
 * Parts of a statement that settles recipients. They take a set `outcome` with the columns `message_id, position, status,
 * provider_message_id, failure, attempt, unsure, account_id, at, sent_event, failed_event`, and write the new status of the recipients and
 * of their messages. A message becomes `sent` with its first sent recipient, and stays `sent`. Its failure is that of its first failed recipient,
 * even if the message is `sent`. `message_event` has the events: `message.sent` with the first sent recipient, and `message.failed` once no
 * recipient is pending and at least one has failed.
 *
 * The message is written before its recipients, because reports lock it first too: in the other order they could deadlock. The
 * recipients are read by an array of ids, because the planner assumes that arrays are short; with a join it may scan the table.
 */
export const decidedRecipients = sql`become as materialized (
      select r.message_id, r.position, r.address, r.name, r.type, outcome.message_id is not null as is_new,
        coalesce(outcome.status, r.status) as status,
        coalesce(outcome.provider_message_id, r.provider_message_id) as provider_message_id,
        coalesce(outcome.failure, r.failure) as failure, outcome.attempt,
        outcome.account_id, outcome.at, outcome.unsure, outcome.sent_event, outcome.failed_event
      from recipients r left join outcome
        on outcome.message_id = r.message_id and outcome.position = r.position and r.status = 'pending'
      where r.message_id = any(array(select message_id from outcome))
    ),
    whole as materialized (
      select grouped.*,
        jsonb_path_query_first(recipients, '$[*] ? (@.providerMessageId != null).providerMessageId') #>> '{}' as provider_message_id,
        jsonb_path_query_first(recipients, '$[*] ? (@.status == "failed").failure')
          || case when unsure then '{"mayHaveBeenSent": true}' else '{}' end::jsonb as failure
      from (
        select message_id,
          case when bool_or(status = 'sent') then 'sent' when bool_or(status = 'pending') then 'pending' else 'failed' end as status,
          bool_or(status = 'sent' and not is_new) as was_sent,
          not bool_or(status = 'pending') and bool_or(status = 'failed') as has_failed,
          bool_or(unsure) as unsure,
          -- This is the only aggregate with an order, because each one sorts every group, which took 20 µs a message.
          jsonb_agg(jsonb_build_object('address', address, 'name', name, 'type', type, 'status', status,
            'providerMessageId', provider_message_id, 'failure', failure) order by position) as recipients,
          min(account_id) as account_id, min(at) as at, min(sent_event) as sent_event, min(failed_event) as failed_event
        from become group by message_id having bool_or(is_new) order by message_id
      ) grouped
    ),
    marked as (
      update messages m set status = whole.status, failure = whole.failure,
        provider_message_id = coalesce(m.provider_message_id, whole.provider_message_id)
      from whole where m.id = whole.message_id
      returning m.id, m.inbox_id, m.thread_id, m.provider_message_id
    ),
    decided as (
      update recipients r set status = become.status, provider_message_id = become.provider_message_id, failure = become.failure,
        attempts = ${attemptsWith(sql`become.attempt`)}
      from become join marked on marked.id = become.message_id
      where become.is_new and r.message_id = become.message_id and r.position = become.position and r.status = 'pending'
    ),
    message_event as (
      select event.id, whole.account_id, marked.inbox_id, marked.thread_id, marked.id as message_id,
        'message.' || event.status as type, whole.at as occurred_at,
        jsonb_build_object('status', whole.status, 'providerMessageId', marked.provider_message_id,
            'recipients', whole.recipients)
          || case when event.status = 'sent' or whole.failure is null then '{}' else jsonb_build_object('failure', whole.failure) end as data,
        false as is_automated
      from whole join marked on marked.id = whole.message_id
      cross join lateral (
        select whole.sent_event as id, 'sent' as status where whole.status = 'sent' and not whole.was_sent
        union all
        select whole.failed_event, 'failed' where whole.has_failed
      ) event
    )`;
