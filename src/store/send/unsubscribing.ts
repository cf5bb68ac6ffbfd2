import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { eventsAndDeliveries, hasDeliveries } from "../events/fan-out.ts";
import { addedSuppressions, foundSuppressions, type NewSuppression, suppressionEvents } from "./suppressions.ts";

/** The recipient of a message that has only one, with the inbox that sent it. */
export interface SoleRecipient {
  accountId: string;
  inboxId: string;
  /** The username of the inbox. */
  username: string;
  address: string;
}

/** Finds the recipient of a message. Undefined if we did not send it to one recipient alone, or if its inbox was deleted. */
export async function findSoleRecipient(db: Db, messageId: string): Promise<SoleRecipient | undefined> {
  const [found] = await query<SoleRecipient>(
    db,
    sql`select i.account_id as "accountId", i.id as "inboxId", i.username, sole.address
        from messages m join inboxes i on i.id = m.inbox_id and i.deleted_at is null
        cross join lateral (select min(r.address) as address from recipients r where r.message_id = m.id having count(*) = 1) sole
        where m.id = ${messageId} and m.direction = 'outbound'`,
  );
  return found;
}

export interface WrittenUnsubscription {
  /** Whether the message still exists. If not, nothing is written. */
  isThere: boolean;
  /** Whether the recipient was not suppressed before. */
  isNew: boolean;
  hasDeliveries: boolean;
}

/** Suppresses the recipient of a message, with the event, in one statement. */
export async function insertUnsubscription(
  db: Db,
  row: { accountId: string; messageId: string; suppression: NewSuppression },
): Promise<WrittenUnsubscription> {
  const asked = sql`(select ${row.accountId}::text as account_id, ${row.messageId}::text as message_id,
    ${JSON.stringify(row.suppression)}::jsonb as suppression)`;
  const [written] = await query<Omit<WrittenUnsubscription, "isNew"> & { added: string[] | null }>(
    db,
    sql`with ${foundSuppressions(asked)},
        new_event as materialized (${suppressionEvents}),
        ${eventsAndDeliveries}
        select exists (select from found) as "isThere", ${addedSuppressions} as added, ${hasDeliveries}`,
  );
  const { isThere = false, added = null, hasDeliveries: wakes = false } = written ?? {};
  return { isThere, isNew: added !== null, hasDeliveries: wakes };
}
