import { recipientOf } from "../../standards/address.ts";
import { recordMessage, type ThreadState } from "../conversation.ts";
import { notFound, Refusal } from "../errors.ts";
import { type KeyUse, reusedIdempotencyKey } from "../idempotency.ts";
import { type PlanLimits, refuseOverLimit, type SendUsage } from "../limits.ts";
import { previewOf } from "../preview.ts";
import { outboundMessage, rowsOfMessage } from "./accepted-rows.ts";
import type { AcceptedSend, AcceptedSends, ColdSends } from "./accepted-sends.ts";
import { refuseLost } from "./attachments.ts";
import { type HtmlBodies, mailContent } from "./forward-content.ts";
import { refuseLoop } from "./loop.ts";
import { type MeasureMail, refuseTooLarge } from "./mail-limit.ts";
import type { WaysOut } from "./recipients/destinations.ts";
import type { Recipient } from "./recipients/entries.ts";
import { recipientsOfSend } from "./recipients/recipients-of-send.ts";
import type { Send, SendRequest, SendResult, SentMessage } from "./send.ts";
import { type Sender, type SendFacts, usageOf } from "./send-facts.ts";
import {
  knownRecipient,
  noteAccepted,
  quotedMessage,
  recipientOfSend,
  repliedThread,
  type SendingState,
  sendingState,
  sentMessage,
  threadIdOf,
} from "./sending-state.ts";
import { suppressedRecipients } from "./suppressed.ts";

export interface Judging extends WaysOut, HtmlBodies {
  /** One instant for the whole batch: its sends fall into one window and on one day. */
  at: Date;
  /** How many recipients a mail may have. */
  recipientsMax: number;
  limits: PlanLimits;
  /** Undefined: a mail may be of any length. */
  mailLimit?: MeasureMail | undefined;
}

/** What each send came to, and the rows that the accepted ones make. */
export interface Judgement extends AcceptedSends {
  results: Map<Send, SendResult>;
}

/** What one send came to; it writes something only where it is accepted. */
export interface JudgedSend {
  result: SendResult;
  accepted?: AcceptedSend;
}

/**
 * Judges sends one after the other, each seeing what those before it have used up: fifty at once get exactly as many
 * places as there are, and fifty with one key are one email and 49 replays.
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
  return { results, ...rowsOf(accepted) };
}

/** A replay is found before any limit, so that a retry never fails on what the first call passed. */
export function judgeSend(state: SendingState, send: Send, judging: Judging): JudgedSend {
  const sender = state.senders.get(send.request.inboxId);
  const usage = usageOf({ sender, recipient: recipientOfSend(state, send.request) }, judging.at);
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

/** An inbox and what it has sent before this send. */
interface Standing {
  sender: Sender;
  usage: SendUsage;
}

function accept(state: SendingState, send: Send, standing: Standing, judging: Judging): JudgedSend {
  const { request } = send;
  const { mailDomain, recipientsMax, at } = judging;
  const from = fromAddress(request, standing.sender, mailDomain);
  const thread = threadOf(state, request);
  const newerInbound = thread !== undefined && hasNewerInbound(state, request, thread);
  refuseLost(request, state.lostSources);
  refuseForeignReplyTo(state, request, mailDomain);
  const replied = thread && repliedThread(state, request, thread);
  const ownAddresses = [`${standing.sender.username}@${mailDomain}`];
  const recipients = recipientsOfSend(request, replied?.replied, { mailDomain, recipientsMax, ownAddresses });
  const quoted =
    thread && quotedMessage(state, request, thread, { replied: replied?.replied, recipients, ownAddresses });
  const content = mailContent(send, replied && { ...replied, quoted }, judging);
  refuseTooLarge(send, { at, from, recipients, content }, judging.mailLimit);
  const known = state.suppressed.get(send.key.label) ?? [];
  const out = suppressedRecipients(
    recipients.map(({ address }) => address),
    known,
  );
  const reached = out.size === 0 ? recipients : recipients.filter(({ address }) => !out.has(address));
  const cold = coldAmong(state, request.inboxId, reached);
  const limits = judging.limits[request.account.plan];
  const several = recipients.length > 1 ? { count: reached.length, cold } : undefined;
  const coldToday = several === undefined ? cold[0]?.sentToday : undefined;
  refuseOverLimit({ ...standing.usage, coldToday }, limits, at, several);
  if (thread !== undefined && request.ignoreLoop !== true) {
    const recent = state.recentMessages.get(thread.id) ?? [];
    for (const { address } of reached) refuseLoop({ to: address, recent, ownAddresses }, limits.loopEchoes, at);
  }

  const recorded = recordMessage(standing.sender, thread, send.newThreadId, {
    id: send.messageId,
    direction: "outbound",
    at,
    subject: content.subject,
    preview: previewOf(send.text),
    hasAttachments: request.files !== undefined,
    participants: participantsOf(from, recipients),
    leavesUnread: newerInbound,
  });
  const usage = usageAfter(standing.usage, reached.length, recorded.createdAt);
  const message = outboundMessage(send, { from, recipients, content }, recorded);
  const rows = rowsOfMessage({ send, message, recipients, out, cold, at }, recorded, { ...usage, ways: judging });
  noteAccepted(state, send, rows);
  const destinations = rows.outboxItems[0]?.kind === undefined ? {} : { destinations: rows.outboxItems.length };
  const result = { kind: "accepted" as const, message: sentMessage(rows), usage, newerInbound, ...destinations };
  return { result, accepted: rows };
}

/** Those who have not answered the inbox yet, where mail to such is limited. */
function coldAmong(state: SendingState, inboxId: string, recipients: readonly Recipient[]) {
  const cold: { address: string; sentToday: number }[] = [];
  for (const { address } of recipients) {
    const stranger = knownRecipient(state, inboxId, address);
    if (stranger?.isKnown === false) cold.push({ address, sentToday: stranger.sentToday });
  }
  return cold;
}

/** Whoever had a blind copy is none. */
function participantsOf(from: string, recipients: readonly Recipient[]): string[] {
  const participants = [from];
  for (const { address, type } of recipients) if (type !== "bcc") participants.push(address);
  return participants;
}

/** An address of the inbox, with or without a tag. */
function fromAddress({ fromAddr }: SendRequest, { username }: Sender, mailDomain: string): string {
  if (fromAddr === undefined) return `${username}@${mailDomain}`;
  const found = recipientOf(fromAddr, mailDomain);
  if (found.kind === "inbox" && found.username === username) return fromAddr;
  const detail = "must be the address of this inbox, which may have a +tag";
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

/** Inbound mail that the caller has not seen yet keeps the thread unread. */
function hasNewerInbound({ places }: SendingState, { readUpToMessageId }: SendRequest, thread: ThreadState): boolean {
  if (readUpToMessageId === undefined) return false;
  const place = places.get(readUpToMessageId);
  if (place?.threadId !== thread.id) throw notFound("message");
  return thread.lastInboundSeq > place.seq;
}

function refuseForeignReplyTo({ owners }: SendingState, { replyTo, account }: SendRequest, mailDomain: string): void {
  if (replyTo === undefined || account.plan !== "free") return;
  const recipient = recipientOf(replyTo, mailDomain);
  const isOwn =
    recipient.kind === "inbox" &&
    owners.some((owner) => owner.username === recipient.username && owner.accountId === account.id);
  if (isOwn) return;
  throw new Refusal(
    "feature_requires_paid_plan",
    'Cannot send: "replyTo" must be the address of an inbox of this account on the free plan',
    { extra: { feature: "external_reply_to" } },
  );
}

/** With this send. How many went to its recipient only a refusal tells. */
function usageAfter(usage: SendUsage, recipients: number, createdAt: Date): SendUsage {
  return {
    ...usage,
    inWindow: usage.inWindow + 1,
    oldestInWindowAt: usage.oldestInWindowAt ?? createdAt,
    today: usage.today + recipients,
  };
}

/** Of a thread or an inbox the last state counts. */
function rowsOf(accepted: readonly AcceptedSend[]): AcceptedSends {
  return {
    keyUses: accepted.map(({ keyUse }) => keyUse),
    threads: [...new Map(accepted.map(({ thread }) => [thread.id, thread])).values()],
    messages: accepted.map(({ message }) => message),
    outboxItems: accepted.flatMap(({ outboxItems }) => outboxItems),
    recipients: accepted.flatMap(({ recipients }) => recipients),
    files: accepted.flatMap(({ files }) => files ?? []),
    coldSends: coldSendsOf(accepted),
    senders: [...new Map(accepted.map(({ sender }) => [sender.id, sender])).values()],
  };
}

/** Those of this batch alone: the store adds them to what there is. */
function coldSendsOf(accepted: readonly AcceptedSend[]): ColdSends[] {
  const cold = new Map<string, ColdSends>();
  for (const { inboxId, recipient, sentOn } of accepted.flatMap(({ coldSends }) => coldSends)) {
    const name = `${inboxId} ${recipient}`;
    cold.set(name, { inboxId, recipient, sentOn, count: (cold.get(name)?.count ?? 0) + 1 });
  }
  return [...cold.values()];
}
