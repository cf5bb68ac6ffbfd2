import type { InboxTotals, ThreadState } from "../conversation.ts";
import type { KeyUse } from "../idempotency.ts";
import { dayInForce, type SendUsage } from "../limits.ts";
import type { RecentMessage } from "./loop.ts";
import type { SendRequest, SentMessage } from "./send.ts";

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
}

/** Whom an inbox sends to, where mail to strangers is limited. */
export interface Recipient {
  /** Whether he has answered the inbox. */
  isKnown: boolean;
  sentToday: number;
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

export interface RepliedMessage extends AskedReply {
  seq: number;
  fromAddr: string;
  fromName: string | null;
  bodyText: string;
  bodyHtml: string | null;
  createdAt: Date;
  rfcMessageId: string;
}

export interface ThreadMessageId extends AskedReply {
  seq: number;
  rfcMessageId: string;
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

/** What a request answers; undefined where it starts a thread. */
export function askedReply({ threadId, readUpToMessageId }: SendRequest): AskedReply | undefined {
  return threadId === undefined ? undefined : { threadId, upToMessageId: readUpToMessageId ?? null };
}

/** Replies of one name answer the same message. No part of it holds a space. */
export function nameOfReply({ threadId, upToMessageId }: AskedReply): string {
  return `${threadId} ${upToMessageId ?? ""}`;
}

export function usageOf({ sender, recipient }: Omit<SendFact, "use">, at: Date): SendUsage | undefined {
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
