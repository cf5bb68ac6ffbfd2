import { type SQL, sql } from "drizzle-orm";
import { selected } from "../columns.ts";
import { inboxes } from "../schema.ts";

/** What a mail changes in the row of its inbox. */
export const mailTotals = [
  "messageCount",
  "inboundCount",
  "threadCount",
  "unreadCount",
  "lastMessageAt",
  "lastMessageId",
] as const;

/** What a send changes there. */
export const sendTotals = [
  "messageCount",
  "threadCount",
  "unreadCount",
  "lastMessageAt",
  "lastMessageId",
  "sentOn",
  "sentCount",
] as const;

export const inboxTotals = [...new Set([...mailTotals, ...sendTotals])];

/** What is selected of an inbox of this name where mail is filed or sent; whether it has a webhook, other tables know. */
export function totalsOf(inbox: string) {
  return selected(inboxes, inbox, ["id", "accountId", "username", ...inboxTotals]);
}

/** Whether the events of an inbox of this name are delivered somewhere. */
export function webhookOf(inbox: string): SQL<boolean> {
  return sql.raw(
    `exists (select from webhooks where webhooks.account_id = ${inbox}.account_id and url is not null and disabled_at is null)`,
  ) as SQL<boolean>;
}
