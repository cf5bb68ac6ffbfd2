import type { InboxTotals, ThreadState } from "../conversation.ts";

/** A Message-ID, by its hash, in one inbox. */
export interface NamedMessage {
  inboxId: string;
  messageIdHash: string;
}

export interface Copy extends NamedMessage {
  contentHash: string;
}

/** A thread, with a Message-ID by which a mail finds it. */
export interface NamedThread extends ThreadState, NamedMessage {}

export interface Parent extends NamedThread {
  /** The recipients, separated by spaces, if we sent it; else null. */
  sentTo: string | null;
}

/** An inbox when it was read. */
export interface ReadInbox extends InboxTotals {
  /** The version, which changes with the inbox, its threads and its messages. */
  revision: number;
}

/** The facts about mails that are to be filed. */
export interface KnownOfMails {
  /** The inboxes that are not deleted. */
  inboxes: readonly ReadInbox[];
  /** Mails that their inbox has already, by Message-ID and content. */
  copies: readonly Copy[];
  /** Threads of the messages that the mails name, or that have the same ids. */
  parents: readonly Parent[];
  /** Threads that wait for one of the mails or for a message that they name. */
  awaiting: readonly NamedThread[];
}
