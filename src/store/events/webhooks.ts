import { sql } from "drizzle-orm";
import { type Db, query } from "../../database/db.ts";
import { type Selected, selected } from "../columns.ts";
import { insertRow } from "../rows.ts";
import { webhooks } from "../schema.ts";

const webhookFields = selected(webhooks, "w");

export type Webhook = Selected<typeof webhookFields>;

export async function findWebhook(db: Db, accountId: string): Promise<Webhook | undefined> {
  const [webhook] = await query<Webhook>(
    db,
    sql`select ${webhookFields} from webhooks w where w.account_id = ${accountId}`,
  );
  return webhook;
}

/** Passes over an account that has one already; true when this one was made. */
export function insertWebhook(
  db: Db,
  webhook: Pick<Webhook, "accountId" | "url" | "secret" | "createdAt">,
): Promise<boolean> {
  return insertRow(db, webhooks, webhook);
}

export async function lockWebhook(tx: Db, accountId: string): Promise<Webhook | undefined> {
  const [webhook] = await query<Webhook>(
    tx,
    sql`select ${webhookFields} from webhooks w where w.account_id = ${accountId} for update`,
  );
  return webhook;
}

/** A new address is also a new chance: it is enabled. */
export async function markWebhookUrl(db: Db, accountId: string, url: string): Promise<Webhook | undefined> {
  const [webhook] = await query<Webhook>(
    db,
    sql`update webhooks w set url = ${url}, disabled_at = null, disabled_reason = null, failing_since = null,
          answered_at = case when w.url = ${url} then w.answered_at end
        where w.account_id = ${accountId} returning ${webhookFields}`,
  );
  return webhook;
}

/** Sets the address where there is none yet. */
export async function markFirstWebhookUrl(db: Db, accountId: string, url: string): Promise<void> {
  await query(db, sql`update webhooks set url = ${url} where account_id = ${accountId} and url is null`);
}

/** The secret goes with the address: the next one set gets a new secret, shown once. */
export async function removeWebhook(db: Db, accountId: string): Promise<boolean> {
  const removed = await query(db, sql`delete from webhooks where account_id = ${accountId} returning 1`);
  return removed.length === 1;
}

/** The old secret stays valid beside the new one until `previousSecretUntil`. */
export async function markSecretRotated(
  db: Db,
  accountId: string,
  secret: string,
  previousSecretUntil: Date,
): Promise<boolean> {
  const rotated = await query(
    db,
    sql`update webhooks set previous_secret = secret, previous_secret_until = ${previousSecretUntil}, secret = ${secret}
        where account_id = ${accountId} returning 1`,
  );
  return rotated.length === 1;
}
