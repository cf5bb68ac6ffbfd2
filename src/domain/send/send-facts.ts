import { inboxAddress } from "../../standards/address.ts";
import type { InboxTotals, ThreadState } from "../conversation.ts";
import type { DomainFacts } from "../domains/readiness.ts";
import type { KeyUse } from "../idempotency.ts";
import { dayInForce, type SendUsage } from "../limits.ts";
import type { SendPolicy } from "../policy.ts";
import type { RuleBook } from "../rules.ts";
import type { Rejection } from "./approval.ts";
import { type Draft, type DraftFact, draftOf } from "./draft.ts";
import type { RecentMessage } from "./loop.ts";
import type { SendRequest, SentMessage } from "./send.ts";
import type { SuppressedAddress } from "./suppressed.ts";

/** The facts from the database that are needed to judge a batch of sends. */
export interface SendFacts {
  /** The facts of each send, in the order of the sends. */
  facts: readonly SendFact[];
  /** The messages that were sent with idempotency keys of this batch before. */
  replays: readonly SentMessage[];
  threads: readonly ThreadOfSend[];
  replied: readonly RepliedMessage[];
  threadMessageIds: readonly ThreadMessageId[];
  numbered: readonly NumberedMessage[];
  /** For each send with `ifUnanswered`, our last message behind the one that the caller has seen. Empty if there is none. */
  answers?: readonly NumberedMessage[];
  owners: readonly Owner[];
  /** The recipients of sends that have several, or whose recipients come from the answered message. */
  recipients?: readonly RecipientOfInbox[];
  /** Messages that a request answers by id. */
  answered?: readonly AnsweredById[];
  /** Earlier messages that replies quote, because no recipient wrote or got the last one. */
  quotable?: readonly AnsweredById[];
  /** The ids of the sources that the sends need and whose bytes were deleted. */
  lostSources?: ReadonlySet<string>;
  /** The rules and policies of the accounts of the sends. Undefined if there are none. */
  books?: ReadonlyMap<string, RuleBook>;
  /** The labels of the inboxes whose sends have labels. */
  labels?: readonly { inboxId: string; label: string }[];
  /** The mails of the inboxes of these sends that a person has rejected lately. */
  rejections?: readonly Rejection[];
  /** The known recipients of sends whose policy depends on that. */
  knownRecipients?: readonly KnownRecipient[];
  /** The present states of the drafts that the steps of this batch are about. */
  drafts?: readonly DraftFact[];
  /** The drafts that were made or sent with idempotency keys of this batch before. */
  replayedDrafts?: readonly Draft[];
  /** The number of open drafts of each inbox in which this batch may make one. */
  openDrafts?: ReadonlyMap<string, number>;
  /** The scheduled drafts, and those that wait for a person, in the threads of sends with `ifUnanswered`. */
  waiting?: readonly Pick<Draft, "id" | "threadId">[];
}

/** A recipient to whom an inbox may write although its policy is `known`, and without the approval of a person although it is `approve_new`. */
export interface KnownRecipient {
  inboxId: string;
  /** The address of the recipient in lower case. */
  address: string;
}

export interface ThreadOfSend extends ThreadState {
  /** The last messages of the thread, newest first. Empty if no send of the batch is checked for a loop. */
  recent: readonly RecentMessage[];
}

/** The facts of one send. */
export interface SendFact {
  /** Undefined if the inbox does not exist. */
  sender: Sender | undefined;
  /** The earlier use of the send's idempotency key. */
  use: KeyUse | undefined;
  /**
   * The only recipient of the send. Undefined if the send names several or none, if the recipient is in our domain, or if mail to cold
   * recipients is not limited.
   */
  recipient: Recipient | undefined;
  /** The suppressed recipients of the send. */
  suppressed: readonly SuppressedAddress[];
}

/** A recipient to whom the inbox may send only a limited number of mails until they answer. */
export interface Recipient {
  /** Whether the recipient has answered the inbox. */
  isKnown: boolean;
  sentToday: number;
}

export interface RecipientOfInbox extends Recipient {
  inboxId: string;
  /** The address of the recipient in lower case. */
  address: string;
}

/** An inbox as it was when the facts were read. */
export interface Sender extends InboxTotals {
  /** The version of the inbox. It changes with every change of the inbox, its threads or its messages. */
  revision: number;
  /** The bytes that the mail of the whole account takes. */
  accountStorageBytes: number;
  /** The tenant of the inbox; null or absent for none. */
  externalId?: string | null;
  /** The name beside the address of mail whose request has no `fromName`; null or absent for none. */
  displayName?: string | null;
  /** The usernames of its aliases. Absent for none. */
  aliases?: readonly string[];
  disabled?: boolean;
  /** The policies for what the inbox and its account send. Absent for `open`. */
  sendPolicy?: SendPolicy;
  accountSendPolicy?: SendPolicy;
  /** When a person rejected a mail of it last; null or absent for never. */
  rejectedAt?: Date | null;
  inWindow: number;
  oldestInWindowAt: Date | null;
  /** The own or shared domain of its address, and the usernames that it has there; null or absent for MAIL_DOMAIN. */
  domain?: (Pick<DomainFacts, "name" | "status"> & { addresses: readonly string[] }) | null;
}

/** The message that a reply answers, if it does not name it by id: the last one of the thread, or the last one that the caller has seen. */
export interface AskedReply {
  threadId: string;
  /** The last message that the caller has seen; null if the request names none. */
  upToMessageId: string | null;
}

export interface RepliedMessage extends AskedReply, AddressedMessage {
  id: string;
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
  /** All addresses of the Reply-To field, if it has several. */
  replyTos: readonly string[] | null;
  envelopeFrom: string | null;
}

/** The addresses of everybody who wrote or got a message. */
export interface MessageParties extends Pick<AddressedMessage, "toAddr" | "toAddrs" | "cc" | "replyTo"> {
  fromAddr: string;
  /** Only of an outbound message, and only if it was read from the database. */
  bcc?: readonly string[] | null;
}

/** The parties of a message in an answered thread. */
export interface PartiesInThread extends MessageParties {
  id: string;
  seq: number;
  threadId: string;
}

/** A message that a request answers by id. It need not be the last one of its thread. */
export interface AnsweredById extends Omit<RepliedMessage, "upToMessageId"> {
  inboxId: string;
  bcc?: readonly string[] | null;
}

export interface ThreadMessageId extends AskedReply {
  seq: number;
  rfcMessageId: string;
  wireName: string | null;
  /** The Message-IDs that the first mail of the thread refers to. The messages with these ids were not in the inbox. */
  ancestors?: readonly string[] | null;
}

/** The number of a message, with its thread. */
export interface NumberedMessage {
  id: string;
  threadId: string;
  seq: number;
}

/** A username, with the account to which its inbox belongs. */
export interface Owner {
  username: string;
  accountId: string;
}

/** The message that a request answers. Undefined if the request starts a thread, or names the message by id. */
export function askedReply(request: SendRequest): AskedReply | undefined {
  const { threadId, replyToMessageId } = request;
  if (threadId === undefined || replyToMessageId !== undefined) return undefined;
  return { threadId, upToMessageId: answeredUpTo(request) ?? null };
}

/** The last message that a reply may answer: the one that its draft has fixed, or the last one that the caller has seen. */
export function answeredUpTo({ step, readUpToMessageId }: SendRequest): string | undefined {
  return draftOf(step)?.answeredId ?? readUpToMessageId;
}

/** Whether some or all recipients of a reply come from the answered message. */
export function isAddressedByReply({ recipients, replyAll }: SendRequest): boolean {
  return replyAll === true || !recipients.some(({ type }) => type === "to");
}

/** A key for the message that a reply answers. Replies with the same key answer the same message. No part contains a space. */
export function nameOfReply({ threadId, upToMessageId }: AskedReply): string {
  return `${threadId} ${upToMessageId ?? ""}`;
}

/** The address of an inbox and its aliases. */
export function ownAddressesOf({ username, aliases = [] }: Pick<Sender, "username" | "aliases">, mailDomain: string) {
  return [username, ...aliases].map((name) => inboxAddress(name, mailDomain));
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
