import { sql } from "drizzle-orm";
import { type Db, query, transaction } from "../../database/db.ts";

/**
 * Puts an event in line once more, with a fresh schedule of retries; attempts go on counting. What is in line or on the
 * wire already stays as it is. The lock comes first, so that an attempt that ends just now is counted.
 */
export async function insertRedelivery(db: Db, eventId: string, now: Date): Promise<void> {
  await transaction(db, async (tx) => {
    const pending = await query(
      tx,
      sql`update outbox set state = 'ready', forgiven_attempts = attempt
          where subject_id = (select subject_id from outbox where subject_id = ${eventId} for update) and state = 'waiting'
          returning subject_id`,
    );
    if (pending.length > 0) return;
    await query(
      tx,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, attempt, forgiven_attempts, created_at)
          select e.id, 'webhook', e.account_id, e.inbox_id, e.account_id, ${now}, made.attempts, made.attempts, ${now}
          from events e cross join lateral (
            select coalesce(max(attempt), 0) as attempts from deliveries where event_id = e.id
          ) made where e.id = ${eventId} on conflict (subject_id) do nothing`,
    );
  });
}
