import type { AutoSubmitted } from "../automated.ts";
import type { ThreadState } from "../conversation.ts";
import type { KeyUse } from "../idempotency.ts";
import type { CustomHeader } from "../message.ts";
import type { NewItem } from "../outbox-item.ts";
import type { FiledFiles } from "./files-of-send.ts";
import type { NewRecipient } from "./recipients/recipient-outcome.ts";
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
  /** What plain mail has none of. */
  more?: MoreOfMessage;
}

/** What a message has that goes to several, or that bears more than its words; the schema says when each is undefined. */
export interface MoreOfMessage {
  fromName: string | undefined;
  toAddrs: readonly string[] | undefined;
  cc: readonly string[];
  recipientCount: number;
  metadata: Readonly<Record<string, string>> | undefined;
  headers: readonly CustomHeader[] | undefined;
  attachmentCount: number;
  forwardOf: string | undefined;
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
  /** One for each destination. */
  outboxItems: readonly NewItem[];
  /** Of several recipients, or one with a name. */
  recipients: readonly NewRecipient[];
  /** Of the recipients whom mail is limited to. */
  coldSends: readonly ColdSend[];
  /** Undefined where it bears none. */
  files: FiledFiles | undefined;
}

/** All that accepted sends write. */
export interface AcceptedSends {
  senders: readonly Sender[];
  keyUses: readonly SendKeyUse[];
  threads: readonly ThreadState[];
  messages: readonly OutboundMessage[];
  outboxItems: readonly NewItem[];
  recipients: readonly NewRecipient[];
  coldSends: readonly ColdSends[];
  files: readonly FiledFiles[];
}
