import type { InboxTotals, ThreadState } from "../conversation.ts";
import type { KeyUse } from "../idempotency.ts";
import { dayInForce, type SendUsage } from "../limits.ts";
import type { RecentMessage } from "./loop.ts";
import type { SendRequest, SentMessage } from "./send.ts";
import type { SuppressedAddress } from "./suppressed.ts";

/** The facts for judging a batch of sends. */
export interface SendFacts {
  /** One for each send, in order. */
  facts: readonly SendFact[];
  /** The messages of keys that are used already. */
  replays: readonly SentMessage[];
  threads: readonly ThreadOfSend[];
  replied: readonly RepliedMessage[];
  threadMessageIds: readonly ThreadMessageId[];
  numbered: readonly NumberedMessage[];
  owners: readonly Owner[];
  /** The recipients of the sends that name several, or whose recipients come from the answered message. */
  recipients?: readonly RecipientOfInbox[];
  /** Messages that a request answers by id. */
  answered?: readonly AnsweredById[];
  /** Earlier messages that replies quote, because no recipient wrote or got the last one. */
  quotable?: readonly AnsweredById[];
  /** Those of the sources named by sends whose bytes were deleted. */
  lostSources?: ReadonlySet<string>;
}

export interface ThreadOfSend extends ThreadState {
  /** Its last messages, newest first. Empty if no send of the batch is checked for a loop. */
  recent: readonly RecentMessage[];
}

/** The facts of one send. */
export interface SendFact {
  /** Undefined if the inbox does not exist. */
  sender: Sender | undefined;
  /** The earlier use of the key. */
  use: KeyUse | undefined;
  /** Undefined if there is no limit for this recipient. */
  recipient: Recipient | undefined;
  /** Its suppressed recipients. */
  suppressed: readonly SuppressedAddress[];
}

/** A recipient for whom the inbox has a limit until they answer it. */
export interface Recipient {
  /** Whether the recipient has answered the inbox. */
  isKnown: boolean;
  sentToday: number;
}

export interface RecipientOfInbox extends Recipient {
  inboxId: string;
  /** In lower case. */
  address: string;
}

/** An inbox as it was when the facts were read. */
export interface Sender extends InboxTotals {
  /** Changes with every change of the inbox, its threads or its messages. */
  revision: number;
  inWindow: number;
  oldestInWindowAt: Date | null;
}

/** Names the message that a reply answers: the last one of the thread, or the last one that the caller has seen. */
export interface AskedReply {
  threadId: string;
  /** The last message that the caller has seen; null if the request names none. */
  upToMessageId: string | null;
}

export interface RepliedMessage extends AskedReply, AddressedMessage {
  seq: number;
  fromAddr: string;
  fromName: string | null;
  bodyText: string;
  bodyHtml: string | null;
  createdAt: Date;
  rfcMessageId: string;
  /** The Message-ID that a relay gave the mail; null if the relay kept ours, or if this was not read. */
  wireName: string | null;
}

/** The addresses of a message that an answer may go to. */
export interface AddressedMessage {
  direction: "inbound" | "outbound";
  toAddr: string;
  toAddrs: readonly string[];
  cc: readonly string[];
  replyTo: string | null;
  /** All addresses of Reply-To, if they were read. */
  replyTos?: readonly string[];
  envelopeFrom: string | null;
  sourceId: string | null;
}

/** The addresses of everybody who wrote or got a message. */
export interface MessageParties extends Pick<AddressedMessage, "toAddr" | "toAddrs" | "cc" | "replyTo"> {
  fromAddr: string;
  /** Outbound only, and only if it was read. */
  bcc?: readonly string[] | null;
}

/** The parties of a message in an answered thread. */
export interface PartiesInThread extends MessageParties {
  id: string;
  threadId: string;
}

/** A message that a request answers by id, even if others came since. */
export interface AnsweredById extends Omit<RepliedMessage, "upToMessageId"> {
  id: string;
  inboxId: string;
  bcc?: readonly string[] | null;
}

export interface ThreadMessageId extends AskedReply {
  seq: number;
  rfcMessageId: string;
  wireName: string | null;
  /** The Message-IDs that the first mail of the thread names. Those messages were not in the inbox. */
  ancestors?: readonly string[] | null;
}

/** The number of a message, with its thread. */
export interface NumberedMessage {
  id: string;
  threadId: string;
  seq: number;
}

/** The account of a username. */
export interface Owner {
  username: string;
  accountId: string;
}

/** The message that a request answers. Undefined if it starts a thread, or names the message by id. */
export function askedReply({ threadId, readUpToMessageId, replyToMessageId }: SendRequest): AskedReply | undefined {
  if (threadId === undefined || replyToMessageId !== undefined) return undefined;
  return { threadId, upToMessageId: readUpToMessageId ?? null };
}

/** Whether recipients come from the answered message. */
export function isAddressedByReply({ recipients, replyAll }: SendRequest): boolean {
  return replyAll === true || !recipients.some(({ type }) => type === "to");
}

/** A key for the message that a reply answers. Replies with the same key answer the same message. No part contains a space. */
export function nameOfReply({ threadId, upToMessageId }: AskedReply): string {
  return `${threadId} ${upToMessageId ?? ""}`;
}

export function usageOf(sender: SendFact["sender"], at: Date): SendUsage | undefined {
  if (sender === undefined) return undefined;
  const day = dayInForce(sender.sentOn, at);
  return {
    inWindow: sender.inWindow,
    oldestInWindowAt: sender.oldestInWindowAt ?? undefined,
    day,
    today: sender.sentOn === day ? sender.sentCount : 0,
  };
}
