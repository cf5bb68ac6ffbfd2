import { and, eq, isNull, sql } from "drizzle-orm";
import type { Db } from "../../database/db.ts";
import { webhooks } from "../schema.ts";

export type Webhook = typeof webhooks.$inferSelect;

export async function findWebhook(db: Db, accountId: string): Promise<Webhook | undefined> {
  const [webhook] = await db.select().from(webhooks).where(eq(webhooks.accountId, accountId));
  return webhook;
}

/** Passes over an account that has one already; true when this one was made. */
export async function insertWebhook(
  db: Db,
  webhook: Omit<Webhook, "previousSecret" | "previousSecretUntil" | "disabledAt">,
): Promise<boolean> {
  const made = await db.insert(webhooks).values(webhook).onConflictDoNothing().returning({ id: webhooks.accountId });
  return made.length === 1;
}

export async function lockWebhook(tx: Db, accountId: string): Promise<Webhook | undefined> {
  const [webhook] = await tx.select().from(webhooks).where(eq(webhooks.accountId, accountId)).for("update");
  return webhook;
}

/** A new address is also a new chance: it is enabled. */
export async function markWebhookUrl(db: Db, accountId: string, url: string): Promise<Webhook | undefined> {
  const [webhook] = await db
    .update(webhooks)
    .set({ url, disabledAt: null })
    .where(eq(webhooks.accountId, accountId))
    .returning();
  return webhook;
}

/** Sets the address where there is none yet. */
export async function markFirstWebhookUrl(db: Db, accountId: string, url: string): Promise<void> {
  await db
    .update(webhooks)
    .set({ url })
    .where(and(eq(webhooks.accountId, accountId), isNull(webhooks.url)));
}

/** The secret goes with the address: the next one set gets a new secret, shown once. */
export async function removeWebhook(db: Db, accountId: string): Promise<boolean> {
  const removed = await db
    .delete(webhooks)
    .where(eq(webhooks.accountId, accountId))
    .returning({ id: webhooks.accountId });
  return removed.length === 1;
}

/** The old secret stays valid beside the new one until `previousSecretUntil`. */
export async function markSecretRotated(
  db: Db,
  accountId: string,
  secret: string,
  previousSecretUntil: Date,
): Promise<boolean> {
  const rotated = await db
    .update(webhooks)
    .set({ previousSecret: sql`${webhooks.secret}`, previousSecretUntil, secret })
    .where(eq(webhooks.accountId, accountId))
    .returning({ id: webhooks.accountId });
  return rotated.length === 1;
}
