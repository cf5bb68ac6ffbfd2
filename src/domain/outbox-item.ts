import { isId } from "./ids.ts";

/** An outbox row that is written with a decision, in the same statement. */
export interface NewItem {
  /** The message to relay or the event to deliver. */
  subjectId: string;
  accountId: string;
  inboxId: string;
  /** Undefined: a plain mail, or whatever the statement that writes it is for. */
  kind?: "destination";
  /** The group of items that fail together: a recipient's domain or an account's webhook. */
  lane: string;
  dueAt: Date;
  createdAt: Date;
}

/** True for the id of a mail or a delivery in the outbox. A number or an endpoint may stand behind a dot. */
export function isItemId(text: string | null): boolean {
  const [subject = "", part, ...more] = text?.split(".", 3) ?? [];
  if (more.length > 0) return false;
  if (isId("msg", subject)) return part === undefined || /^[1-9]\d{0,3}$/.test(part);
  return isId("evt", subject) && (part === undefined || isId("whk", part));
}
