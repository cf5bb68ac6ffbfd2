import { isId } from "./ids.ts";

/** A new row of the outbox for a mail. The statement that writes the mail also writes this row. */
export interface NewItem {
  /** The id of the row, made by `subjectOfDestination`. */
  subjectId: string;
  accountId: string;
  inboxId: string;
  /** The domain of the recipients, or `*` if they have several domains. */
  lane: string;
  dueAt: Date;
  createdAt: Date;
}

/** Whether a text has the form of an outbox id: the id of a message, perhaps with a number, or of an event, perhaps with an endpoint. */
export function isItemId(text: string | null): boolean {
  const [subject = "", part, ...more] = text?.split(".", 3) ?? [];
  if (more.length > 0) return false;
  if (isId("msg", subject)) return part === undefined || /^[1-9]\d{0,3}$/.test(part);
  return isId("evt", subject) && (part === undefined || isId("whk", part));
}
