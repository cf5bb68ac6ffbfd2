import type { InboxTotals, ThreadState } from "../conversation.ts";
import type { KeyUse } from "../idempotency.ts";
import { dayInForce, type SendUsage } from "../limits.ts";
import type { RecentMessage } from "./loop.ts";
import type { SendRequest, SentMessage } from "./send.ts";
import type { SuppressedAddress } from "./suppressed.ts";

/** All that the judgement of a batch needs. */
export interface SendFacts {
  /** Of each send, in their order. */
  facts: readonly SendFact[];
  /** What the messages have become that used keys stand for. */
  replays: readonly SentMessage[];
  threads: readonly ThreadOfSend[];
  replied: readonly RepliedMessage[];
  threadMessageIds: readonly ThreadMessageId[];
  places: readonly Place[];
  owners: readonly Owner[];
  /** Of the sends that go to several, or to whom the answered message says. */
  recipients?: readonly RecipientOfInbox[];
  /** Messages that are answered by their ids. */
  answered?: readonly AnsweredById[];
  /** Earlier messages that replies quote because no recipient has a part in the last one. */
  quotable?: readonly AnsweredById[];
  /** Of the sources that sends name, those whose bytes have gone. */
  lostSources?: ReadonlySet<string>;
}

export interface ThreadOfSend extends ThreadState {
  /** Its last messages, the newest first; none where no send asks whether it is in a loop. */
  recent: readonly RecentMessage[];
}

/** What is known of a send before it is judged. */
export interface SendFact {
  /** Undefined where there is no such inbox. */
  sender: Sender | undefined;
  /** What the key stands for already. */
  use: KeyUse | undefined;
  /** Undefined where nothing limits mail to this recipient. */
  recipient: Recipient | undefined;
  /** Of its recipients, those that nothing may be sent to. */
  suppressed: readonly SuppressedAddress[];
}

/** Whom an inbox sends to, where mail to strangers is limited. */
export interface Recipient {
  /** Whether he has answered the inbox. */
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
  /** Another one when anything about the inbox, its threads or its messages has changed. */
  revision: number;
  inWindow: number;
  oldestInWindowAt: Date | null;
}

/** What a reply answers: the last message of a thread, or of what its caller has seen of it. */
export interface AskedReply {
  threadId: string;
  /** The last message that the caller has seen; null where nothing is said of that. */
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
  /** Under which a relay handed it on; null where it kept ours, or nobody asks. */
  wireName: string | null;
}

/** What a message says of whom an answer to it goes to. */
export interface AddressedMessage {
  direction: "inbound" | "outbound";
  toAddr: string;
  /** Null where they are the one of `toAddr`, and of older mail that came in. */
  toAddrs: readonly string[] | null;
  cc: readonly string[];
  replyTo: string | null;
  /** All addresses of its Reply-To, where they were read. */
  replyTos?: readonly string[];
  envelopeFrom: string | null;
  sourceId: string | null;
}

/** The addresses of a message: everybody here has a part in it. */
export interface MessageParties extends Pick<AddressedMessage, "toAddr" | "toAddrs" | "cc" | "replyTo"> {
  fromAddr: string;
  /** Outbound only, and where it was read. */
  bcc?: readonly string[] | null;
}

/** The addresses of a message in a thread that is replied to. */
export interface PartiesInThread extends MessageParties {
  id: string;
  threadId: string;
}

/** A message that is answered because a caller named it, whatever has come since. */
export interface AnsweredById extends Omit<RepliedMessage, "upToMessageId"> {
  id: string;
  inboxId: string;
  bcc?: readonly string[] | null;
}

export interface ThreadMessageId extends AskedReply {
  seq: number;
  rfcMessageId: string;
  wireName: string | null;
  /** The messages that the first mail of the thread names; they are not stored here. */
  ancestors?: readonly string[] | null;
}

/** Where a message stands in its thread. */
export interface Place {
  id: string;
  threadId: string;
  seq: number;
}

/** Whose inbox a username is. */
export interface Owner {
  username: string;
  accountId: string;
}

/** What a request answers; undefined where it starts a thread, or names the message itself. */
export function askedReply({ threadId, readUpToMessageId, replyToMessageId }: SendRequest): AskedReply | undefined {
  if (threadId === undefined || replyToMessageId !== undefined) return undefined;
  return { threadId, upToMessageId: readUpToMessageId ?? null };
}

/** Whether the message that is answered says to whom the mail goes. */
export function isAddressedByReply({ recipients, replyAll }: SendRequest): boolean {
  return replyAll === true || !recipients.some(({ type }) => type === "to");
}

/** Replies of one name answer the same message. No part of it holds a space. */
export function nameOfReply({ threadId, upToMessageId }: AskedReply): string {
  return `${threadId} ${upToMessageId ?? ""}`;
}

export function usageOf(
  { sender, recipient }: Pick<SendFact, "sender" | "recipient">,
  at: Date,
): SendUsage | undefined {
  if (sender === undefined) return undefined;
  const day = dayInForce(sender.sentOn, at);
  return {
    inWindow: sender.inWindow,
    oldestInWindowAt: sender.oldestInWindowAt ?? undefined,
    day,
    today: sender.sentOn === day ? sender.sentCount : 0,
    coldToday: recipient === undefined || recipient.isKnown ? undefined : recipient.sentToday,
  };
}
