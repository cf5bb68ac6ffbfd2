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
