import { inboxAddress, usernameAt } from "../../standards/address.ts";
import { type MessageFacts, recordMessage, type ThreadState } from "../conversation.ts";
import { domainNotVerified, isProven } from "../domains/readiness.ts";
import { notFound, Refusal } from "../errors.ts";
import { type KeyUse, reusedIdempotencyKey } from "../idempotency.ts";
import { labelsAfter, labelsOfInboxAfter, refuseLabelsOver } from "../labels.ts";
import { type Limits, limitsOf, type PlanLimits, refuseOverLimit, refuseOverQuota, type SendUsage } from "../limits.ts";
import { previewOf } from "../preview.ts";
import { type AcceptedSend, type AcceptedSends, acceptedSend, joinedRows, sizeOfSend } from "./accepted-sends.ts";
import { policyOfSend, refuseClosed, refuseDisabled, refuseNotAllowed } from "./allowed-recipients.ts";
import { refuseLost } from "./attachments.ts";
import { type HtmlBodies, mailContent } from "./forward-content.ts";
import { refuseLoop } from "./loop.ts";
import { type MeasureMail, refuseTooLarge } from "./mail-limit.ts";
import type { WaysOut } from "./recipients/destinations.ts";
import type { Recipient } from "./recipients/entries.ts";
import { recipientsOfSend } from "./recipients/recipients-of-send.ts";
import type { Replied } from "./reply-content.ts";
import type { Send, SendRequest, SendResult, SentMessage } from "./send.ts";
import { ownAddressesOf, type Sender, type SendFacts, usageOf } from "./send-facts.ts";
import {
  isKnownRecipient,
  knownRecipient,
  noteAccepted,
  quotedMessage,
  repliedThread,
  type SendingState,
  sendingState,
  sentMessage,
  threadIdOf,
} from "./sending-state.ts";
import { suppressedRecipients } from "./suppressed.ts";
import { refuseUnsubscribeOfSeveral, refuseWithoutUnsubscribe } from "./unsubscribing.ts";

export interface Judging extends WaysOut, HtmlBodies {
  /** The instant of all sends of the batch, so that they count in the same window and on the same day. */
  at: Date;
  /** The most recipients of a mail. */
  recipientsMax: number;
  limits: PlanLimits;
  /** Undefined: no limit. */
  mailLimit?: MeasureMail | undefined;
}

/** The results of a batch of sends, and the rows of the accepted sends. */
export interface Judgement extends AcceptedSends {
  results: Map<Send, SendResult>;
}

/** The result of one send, and its rows if it is accepted. */
export interface JudgedSend {
  result: SendResult;
  accepted?: AcceptedSend;
}

/**
 * Accepts or refuses sends in order, each with the usage of the earlier ones. If the limit has ten sends left, ten of fifty sends at once
 * are accepted. Fifty sends with the same idempotency key make one email and 49 replays.
 */
export function judgeSends(sends: readonly Send[], facts: SendFacts, judging: Judging): Judgement {
  const state = sendingState(sends, facts, judging.at);
  const results = new Map<Send, SendResult>();
  const accepted: AcceptedSend[] = [];
  for (const send of sends) {
    const judged = judgeSend(state, send, judging);
    results.set(send, judged.result);
    if (judged.accepted !== undefined) accepted.push(judged.accepted);
  }
  return { results, ...joinedRows(accepted) };
}

/** Accepts or refuses one send. Looks for a replay before it checks a limit, so that a retry never fails if the first call was accepted. */
export function judgeSend(state: SendingState, send: Send, judging: Judging): JudgedSend {
  const sender = state.senders.get(send.request.inboxId);
  const usage = usageOf(sender, judging.at);
  try {
    if (sender === undefined || usage === undefined) throw notFound("inbox");
    const use = state.keyUses.get(send.key.label);
    if (use === undefined) return accept(state, send, { sender, usage }, judging);
    return { result: { kind: "replayed", message: replayed(state, send, use), usage } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { result: { kind: "refused", refusal: error, usage } };
  }
}

function replayed({ sent }: SendingState, send: Send, use: KeyUse): SentMessage {
  if (use.fingerprint !== send.fingerprint) throw reusedIdempotencyKey();
  const message = sent.get(use.subjectId);
  if (message === undefined) throw notFound("message");
  return message;
}

/** An inbox, with the counts of its sends before this one. */
interface Standing {
  sender: Sender;
  usage: SendUsage;
}

function accept(state: SendingState, send: Send, standing: Standing, judging: Judging): JudgedSend {
  const { request } = send;
  const { mailDomain, recipientsMax, at } = judging;
  const { sender } = standing;
  const given = request.fromAddr === undefined ? undefined : requestedFrom(request.fromAddr, sender, mailDomain);
  const fromName = request.fromName === undefined ? sender.displayName : request.fromName;
  const thread = threadOf(state, request);
  const seenSeq = thread && seenUpTo(state, request, thread);
  if (thread !== undefined && seenSeq !== undefined && request.ifUnanswered === true)
    refuseAnswered(state, thread, seenSeq);
  // Such a thread stays unread.
  const newerInbound = thread !== undefined && seenSeq !== undefined && thread.lastInboundSeq > seenSeq;
  refuseLost(request, state.lostSources);
  refuseForeignReplyTo(state, request, mailDomain);
  const book = state.books.get(request.account.id);
  const policy = policyOfSend(request, sender, book);
  refuseDisabled(sender);
  refuseClosed(policy);
  const replied = thread && repliedThread(state, request, thread);
  const from = given ?? usualFrom(replied?.replied, sender, mailDomain);
  const ownAddresses = ownAddressesOf(sender, mailDomain);
  const recipients = recipientsOfSend(request, replied?.replied, { mailDomain, recipientsMax, ownAddresses });
  refuseUnsubscribeOfSeveral(request, recipients);
  const isKnown = (address: string) => isKnownRecipient(state, request.inboxId, address);
  refuseNotAllowed(
    recipients.map(({ address }) => address),
    { policy, sender: sender, book, isKnown },
  );
  const quoted =
    thread && quotedMessage(state, request, thread, { replied: replied?.replied, recipients, ownAddresses });
  const content = mailContent(send, replied && { ...replied, quoted }, judging);
  refuseTooLarge(send, { at, from, fromName, recipients, content }, judging.mailLimit);
  refuseUnproven(sender, usernameAt(from, mailDomain));
  const known = state.suppressed.get(send.key.label) ?? [];
  const suppressed = suppressedRecipients(
    recipients.map(({ address }) => address),
    known,
  );
  refuseWithoutUnsubscribe(send);
  refuseLabels(state, request, thread);
  const limits = limitsOf(judging.limits, request.account);
  const sizeBytes = sizeOfSend(send, content);
  refuseOverQuotas(sender, sizeBytes, limits);
  const reached = suppressed.size === 0 ? recipients : recipients.filter(({ address }) => !suppressed.has(address));
  const cold = coldAmong(state, request.inboxId, reached);
  refuseOverLimit(standing.usage, { count: reached.length, cold, areSeveral: recipients.length > 1 }, limits, at);
  if (thread !== undefined && request.ignoreLoop !== true) {
    const recent = state.recentMessages.get(thread.id) ?? [];
    for (const { address } of reached) refuseLoop({ to: address, recent, ownAddresses }, limits.loopEchoes, at);
  }

  const recorded = recordMessage(sender, thread, send.newThreadId, {
    id: send.messageId,
    direction: "outbound",
    at,
    sizeBytes,
    subject: content.subject,
    preview: previewOf(send.text),
    hasAttachments: request.files !== undefined,
    people: peopleOf({ address: from, name: fromName }, recipients),
    leavesUnread: newerInbound,
    labels: request.labels,
  });
  const usage = usageAfter(standing.usage, reached.length, recorded.createdAt);
  const accepted = acceptedSend(
    { send, from, fromName, recipients, suppressed, cold, content, sizeBytes, recorded, usage, at },
    judging,
  );
  noteAccepted(state, send, accepted);
  const message = sentMessage(accepted);
  const destinations = accepted.outboxItems.length;
  return { result: { kind: "accepted", message, usage, newerInbound, destinations }, accepted };
}

/** Refuses labels that would be too many for the thread or the inbox. */
function refuseLabels({ labelsOf }: SendingState, { inboxId, labels }: SendRequest, thread?: ThreadState): void {
  if (labels === undefined) return;
  refuseLabelsOver(labelsAfter(thread?.labels ?? [], labels), "#/labels", "send");
  labelsOfInboxAfter(labelsOf.get(inboxId) ?? new Set(), labels, "send");
}

function refuseOverQuotas(sender: Sender, adds: number, limits: Limits): void {
  refuseOverQuota("inboxBytes", { used: sender.storageBytes, adds, limits, doing: "send" });
  refuseOverQuota("storageBytes", { used: sender.accountStorageBytes, adds, limits, doing: "send" });
}

/** The cold recipients of a send, which the inbox does not know. Empty if cold recipients are not limited. */
function coldAmong(state: SendingState, inboxId: string, recipients: readonly Recipient[]) {
  const cold: { address: string; sentToday: number }[] = [];
  for (const { address } of recipients) {
    const stranger = knownRecipient(state, inboxId, address);
    if (stranger?.isKnown === false) cold.push({ address, sentToday: stranger.sentToday });
  }
  return cold;
}

/** The people to add to the thread: the sender and the recipients, without those of a blind copy. */
function peopleOf(from: MessageFacts["people"][number], recipients: readonly Recipient[]): MessageFacts["people"] {
  return [from, ...recipients.filter(({ type }) => type !== "bcc")];
}

/**
 * Refuses mail from a domain that is not verified, and from an address that another inbox has taken while the domain was another account's.
 * A failing domain sends, until it has failed.
 */
function refuseUnproven({ domain }: Sender, username = ""): void {
  if (domain == null) return;
  if (!isProven(domain.status)) throw domainNotVerified("Cannot send", domain);
  if (domain.addresses.includes(username)) return;
  throw new Refusal("address_taken", `Cannot send: another inbox has taken the address "${username}"`);
}

/**
 * The sender's address of a send that names none: the alias that the answered message came to, or that it was sent from. Otherwise the address
 * of the inbox.
 */
function usualFrom(replied: Replied | undefined, { username, aliases = [] }: Sender, mailDomain: string): string {
  const own = replied === undefined || aliases.length === 0 ? undefined : usernameAt(ownSideOf(replied), mailDomain);
  return inboxAddress(own !== undefined && aliases.includes(own) ? own : username, mailDomain);
}

/** The address of the inbox in a message. */
function ownSideOf({ direction, toAddr, fromAddr }: Replied): string {
  return direction === "inbound" ? toAddr : fromAddr;
}

/** The requested sender's address. Refuses one that differs by more than a tag from the address of the inbox and its aliases. */
function requestedFrom(fromAddr: string, { username, aliases = [] }: Sender, mailDomain: string): string {
  const own = usernameAt(fromAddr, mailDomain);
  if (own === username || (own !== undefined && aliases.includes(own))) return fromAddr;
  const detail = "must be the address of this inbox or an alias of it, which may have a +tag";
  throw new Refusal("validation_error", `Cannot send: "fromAddr" ${detail}`, {
    faults: [{ pointer: "#/fromAddr", detail }],
  });
}

function threadOf(state: SendingState, request: SendRequest): ThreadState | undefined {
  const threadId = threadIdOf(state, request);
  if (threadId === undefined) return undefined;
  const thread = state.threads.get(threadId);
  if (thread?.inboxId !== request.inboxId) throw notFound("thread");
  return thread;
}

/** The number of the last message that the caller has seen in the thread; undefined if the request names none. */
function seenUpTo(
  { numbered }: SendingState,
  { readUpToMessageId }: SendRequest,
  thread: ThreadState,
): number | undefined {
  if (readUpToMessageId === undefined) return undefined;
  const seen = numbered.get(readUpToMessageId);
  if (seen?.threadId !== thread.id) throw notFound("message");
  return seen.seq;
}

/** Refuses a reply to a thread in which a message of ours that did not fail stands behind the last one that the caller has seen. */
function refuseAnswered({ answers }: SendingState, { id }: ThreadState, seenSeq: number): void {
  const answer = answers.get(id);
  if (answer === undefined || answer.seq <= seenSeq) return;
  const why = `this inbox has answered in the thread after "readUpToMessageId", by ${answer.id}`;
  throw new Refusal("answered_meanwhile", `Cannot send: ${why}`, { extra: { messageId: answer.id } });
}

function refuseForeignReplyTo({ owners }: SendingState, { replyTo, account }: SendRequest, mailDomain: string): void {
  if (replyTo === undefined || account.plan !== "free") return;
  const username = usernameAt(replyTo, mailDomain);
  if (owners.some((owner) => owner.username === username && owner.accountId === account.id)) return;
  throw new Refusal(
    "feature_requires_paid_plan",
    'Cannot send: "replyTo" must be the address of an inbox of this account on the free plan',
    { extra: { feature: "external_reply_to" } },
  );
}

/** The usage of the inbox after this send. Each recipient counts as one send of the day. */
function usageAfter(usage: SendUsage, recipients: number, createdAt: Date): SendUsage {
  return {
    ...usage,
    inWindow: usage.inWindow + 1,
    oldestInWindowAt: usage.oldestInWindowAt ?? createdAt,
    today: usage.today + recipients,
  };
}
