import type { InboxTotals, ThreadState } from "../conversation.ts";

/** A Message-ID, by its hash, in one inbox. */
export interface NamedMessage {
  inboxId: string;
  messageIdHash: string;
}

export interface Copy extends NamedMessage {
  contentHash: string;
}

/** A thread, with the Message-ID by which a mail is matched to it. */
export interface NamedThread extends ThreadState, NamedMessage {}

export interface Parent extends NamedThread {
  /** The addresses of the message's recipients, separated by spaces, if we sent the message; else null. */
  sentTo: string | null;
}

/** An inbox as it was when it was read. */
export interface ReadInbox extends InboxTotals {
  /** The version of the inbox. It changes with every change of the inbox, its threads or its messages. */
  revision: number;
  disabled: boolean;
}

/** The facts from the database that are needed to file a batch of mails. */
export interface KnownOfMails {
  /** The inboxes that are not deleted. */
  inboxes: readonly ReadInbox[];
  /** Mails of the batch that an inbox or its quarantine already has, or that were removed from it, by Message-ID and content. */
  copies: readonly Copy[];
  /** The threads of the messages that the mails refer to, or that have the Message-ID of one of the mails. */
  parents: readonly Parent[];
  /** The threads that wait for one of the mails, or for a message that one of the mails refers to. */
  awaiting: readonly NamedThread[];
  /** The Message-IDs, of the mails and of those that they refer to, whose messages were removed on request. */
  removed: readonly NamedMessage[];
}
