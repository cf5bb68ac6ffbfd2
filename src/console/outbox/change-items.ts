import { errorText, inboxd, type Schemas } from "../api.ts";
import { formatCount } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { mapAtMost } from "../parts/loaded.ts";
import { may } from "../session.ts";

export type OutboxItem = Schemas["OutboxItem"];

/** Whether the session's key may retry and cancel this item. */
export function mayChange({ messageId }: OutboxItem): boolean {
  return may(messageId === null ? "account" : "mark");
}

/** Retries or cancels the items, four at a time, and shows the result. */
export async function changeItems(items: readonly OutboxItem[], action: "retry" | "cancel"): Promise<void> {
  const ids = action === "retry" ? items.map(({ id }) => id) : idsToCancel(items);
  const results = await mapAtMost(ids, (id) => inboxd.outbox[action](id).then(() => undefined, errorText), 4);
  const [fault, ...otherFaults] = results.flatMap((result) => result ?? []);
  const done = action === "retry" ? "queued for retry" : "canceled";
  if (fault === undefined) notify(`${formatCount(ids.length, "item")} ${done}`);
  else if (ids.length === 1) notify(fault, "bad");
  else {
    const doneCount = ids.length - 1 - otherFaults.length;
    notify(`${doneCount} of ${formatCount(ids.length, "item")} ${done}. ${fault}`, "bad");
  }
}

/** One id for each mail: a mail has an item for each destination, and canceling one item cancels the whole mail. */
function idsToCancel(items: readonly OutboxItem[]): string[] {
  return [...new Map(items.map(({ id, messageId }) => [messageId ?? id, id])).values()];
}
