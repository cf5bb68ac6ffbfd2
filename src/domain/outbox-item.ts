import { isId } from "./ids.ts";

/** A new row of the outbox for a mail. The statement that writes the mail writes it too. */
export interface NewItem {
  /** See `subjectOfDestination`. */
  subjectId: string;
  accountId: string;
  inboxId: string;
  /** The domain of the recipients, or `*` for several. */
  lane: string;
  dueAt: Date;
  createdAt: Date;
}

/** Whether a text can be the id of a mail or a delivery in the outbox: a message with a number, or an event with an endpoint. */
export function isItemId(text: string | null): boolean {
  const [subject = "", part, ...more] = text?.split(".", 3) ?? [];
  if (more.length > 0) return false;
  if (isId("msg", subject)) return part === undefined || /^[1-9]\d{0,3}$/.test(part);
  return isId("evt", subject) && (part === undefined || isId("whk", part));
}
