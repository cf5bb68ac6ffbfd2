import type { AutoSubmitted } from "../automated.ts";
import type { ThreadState } from "../conversation.ts";
import type { KeyUse } from "../idempotency.ts";
import type { NewItem } from "../outbox-item.ts";
import type { Sender } from "./send-facts.ts";

/** What tells one message that waits to be sent from another; its other columns are the same for all. */
export interface OutboundMessage {
  id: string;
  inboxId: string;
  threadId: string;
  seq: number;
  directionSeq: number;
  createdAt: Date;
  rfcMessageId: string;
  messageIdHash: string;
  fromAddr: string;
  toAddr: string;
  replyTo: string | undefined;
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  inReplyTo: string | undefined;
  referenceIds: readonly string[];
  autoSubmitted: AutoSubmitted | undefined;
}

export interface SendKeyUse extends KeyUse {
  inboxId: string;
}

/** One to someone who has not answered the inbox. */
export interface ColdSend {
  inboxId: string;
  recipient: string;
  sentOn: string;
  /** Together with this one. */
  sentToday: number;
}

export interface ColdSends extends Omit<ColdSend, "sentToday"> {
  count: number;
}

/** What one accepted send writes. */
export interface AcceptedSend {
  /** As the send leaves it. */
  sender: Sender;
  thread: ThreadState;
  message: OutboundMessage;
  keyUse: SendKeyUse;
  outboxItem: NewItem;
  /** Undefined where nothing limits mail to its recipient. */
  coldSend: ColdSend | undefined;
}

/** All that accepted sends write. */
export interface AcceptedSends {
  senders: readonly Sender[];
  keyUses: readonly SendKeyUse[];
  threads: readonly ThreadState[];
  messages: readonly OutboundMessage[];
  outboxItems: readonly NewItem[];
  coldSends: readonly ColdSends[];
}
