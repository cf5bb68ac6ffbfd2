import { selected } from "../columns.ts";
import { inboxes } from "../schema.ts";

/** The columns of an inbox that a received mail changes. */
export const mailTotals = [
  "messageCount",
  "inboundCount",
  "threadCount",
  "unreadCount",
  "archiveCount",
  "trashCount",
  "storageBytes",
  "lastMessageAt",
  "lastMessageId",
] as const;

/** The columns of an inbox that a send changes. */
export const sendTotals = [
  "messageCount",
  "threadCount",
  "unreadCount",
  "archiveCount",
  "trashCount",
  "storageBytes",
  "lastMessageAt",
  "lastMessageId",
  "sentOn",
  "sentCount",
] as const;

export const inboxTotals = [...new Set([...mailTotals, ...sendTotals])];

/** The select list of an inbox for receiving and sending. `inbox` is the name of the inbox in the statement. */
export function totalsOf(inbox: string) {
  return selected(inboxes, inbox, ["id", "accountId", "username", ...inboxTotals]);
}
