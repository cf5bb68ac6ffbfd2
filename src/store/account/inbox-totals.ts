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

/** What is selected of an inbox of this name where mail is filed or sent. */
export function totalsOf(inbox: string) {
  return selected(inboxes, inbox, ["id", "accountId", "username", ...inboxTotals]);
}
