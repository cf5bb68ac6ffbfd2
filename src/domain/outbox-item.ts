import { type Caller, isWholeAccount } from "./access/access.ts";
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

/** The kinds of items that the API shows: mail to a relay, and events to a webhook. */
export const listedKinds = ["relay", "webhook"] as const;

export type ListedKind = (typeof listedKinds)[number];

/** The kinds that a caller may see. An event shows the URL of its webhook, so only who manages the account sees it. */
export function itemKindsOf({ access, reach }: Pick<Caller, "access" | "reach">): readonly ListedKind[] {
  return access === "full" && isWholeAccount(reach) ? listedKinds : ["relay"];
}
