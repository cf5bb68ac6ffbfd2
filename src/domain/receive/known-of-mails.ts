import type { InboxTotals, ThreadState } from "../conversation.ts";

/** A Message-ID, by its hash, in one inbox. */
export interface NamedMessage {
  inboxId: string;
  messageIdHash: string;
}

export interface Copy extends NamedMessage {
  contentHash: string;
}

/** A message that a mail names or bears the id of, by its thread. */
export interface NamedThread extends ThreadState, NamedMessage {}

export interface Parent extends NamedThread {
  /** Whom we had sent it to, with a space between several; null where it is not ours. */
  sentTo: string | null;
}

/** An inbox as it was when it was read. */
export interface ReadInbox extends InboxTotals {
  /** Another one when anything about the inbox, its threads or its messages has changed. */
  revision: number;
}

/** What is known of mails before they are filed. */
export interface KnownOfMails {
  /** Those that live. */
  inboxes: readonly ReadInbox[];
  /** Which of them their inbox already has, by Message-ID and content. */
  copies: readonly Copy[];
  /** Threads of the messages that they name, or that bear their own ids. */
  parents: readonly Parent[];
  /** Threads that wait for one of those. */
  awaiting: readonly NamedThread[];
}
