import { isId } from "./ids.ts";

/** What is to be done once a decision is written down, by the same statement. */
export interface NewItem {
  /** The message to relay or the event to deliver. */
  subjectId: string;
  accountId: string;
  inboxId: string;
  /** Undefined: a plain mail, or whatever the statement that writes it is for. */
  kind?: "destination";
  /** What shares a fate: a recipient's domain or an account's webhook. */
  lane: string;
  dueAt: Date;
  createdAt: Date;
}

/** Whether it can be the id of mail or of a promise in the outbox; a number or an endpoint stands behind a dot. */
export function isItemId(text: string | null): boolean {
  const [subject = "", part, ...more] = text?.split(".", 3) ?? [];
  if (more.length > 0) return false;
  if (isId("msg", subject)) return part === undefined || /^[1-9]\d{0,3}$/.test(part);
  return isId("evt", subject) && (part === undefined || isId("whk", part));
}
