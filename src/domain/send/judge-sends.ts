import { recipientOf, splitAddress } from "../../standards/address.ts";
import { type Recorded, recordMessage, type ThreadState } from "../conversation.ts";
import { notFound, Refusal } from "../errors.ts";
import { type KeyUse, reusedIdempotencyKey } from "../idempotency.ts";
import { type PlanLimits, refuseOverLimit, type SendUsage } from "../limits.ts";
import { previewOf } from "../preview.ts";
import type { AcceptedSend, AcceptedSends, ColdSends, OutboundMessage } from "./accepted-sends.ts";
import { refuseLoop } from "./loop.ts";
import { type Content, replyContent, type WithHtmlQuote } from "./reply-content.ts";
import type { Send, SendRequest, SendResult, SentMessage } from "./send.ts";
import { type Sender, type SendFacts, usageOf } from "./send-facts.ts";
import {
  noteAccepted,
  recipientOfSend,
  repliedThread,
  type SendingState,
  sendingState,
  sentMessage,
} from "./sending-state.ts";

export interface Judging {
  /** One instant for the whole batch: its sends fall into one window and on one day. */
  at: Date;
  mailDomain: string;
  limits: PlanLimits;
  withHtmlQuote: WithHtmlQuote;
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
  const thread = threadOf(state, request);
  const newerInbound = thread !== undefined && hasNewerInbound(state, request, thread);
  refuseForeignReplyTo(state, request, judging.mailDomain);
  const limits = judging.limits[request.account.plan];
  refuseOverLimit(standing.usage, limits, judging.at);
  if (thread !== undefined && request.ignoreLoop !== true) {
    const recent = state.recentMessages.get(thread.id) ?? [];
    refuseLoop({ to: request.to, recent }, limits.loopEchoes, judging.at);
  }

  const content = replyContent(send, thread && repliedThread(state, request, thread), judging.withHtmlQuote);
  const from = `${standing.sender.username}@${judging.mailDomain}`;
  const recorded = recordMessage(standing.sender, thread, send.newThreadId, {
    id: send.messageId,
    direction: "outbound",
    at: judging.at,
    subject: content.subject,
    preview: previewOf(send.text),
    hasAttachments: false,
    participants: [from, request.to],
    leavesUnread: newerInbound,
  });
  const usage = usageAfter(standing.usage, recorded.createdAt);
  const message = outboundMessage(send, from, content, recorded);
  const accepted = acceptedSend(send, message, recorded, usage, judging.at);
  noteAccepted(state, send, accepted);
  return { result: { kind: "accepted", message: sentMessage(message), usage, newerInbound }, accepted };
}

function threadOf({ threads }: SendingState, { threadId, inboxId }: SendRequest): ThreadState | undefined {
  if (threadId === undefined) return undefined;
  const thread = threads.get(threadId);
  if (thread?.inboxId !== inboxId) throw notFound("thread");
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
function usageAfter(usage: SendUsage, createdAt: Date): SendUsage {
  return {
    ...usage,
    inWindow: usage.inWindow + 1,
    oldestInWindowAt: usage.oldestInWindowAt ?? createdAt,
    today: usage.today + 1,
  };
}

function outboundMessage(
  send: Send,
  fromAddr: string,
  content: Content,
  { inbox, thread, seq, directionSeq, createdAt }: Recorded<Sender>,
): OutboundMessage {
  return {
    id: send.messageId,
    inboxId: inbox.id,
    threadId: thread.id,
    seq,
    directionSeq,
    createdAt,
    rfcMessageId: send.rfcMessageId,
    messageIdHash: send.messageIdHash,
    fromAddr,
    toAddr: send.request.to,
    replyTo: send.request.replyTo,
    subject: content.subject,
    bodyText: content.bodyText,
    bodyHtml: content.bodyHtml,
    inReplyTo: content.inReplyTo,
    referenceIds: content.references,
    autoSubmitted: send.request.autoSubmitted,
  };
}

function acceptedSend(
  send: Send,
  message: OutboundMessage,
  { inbox, thread, createdAt }: Recorded<Sender>,
  { day, today, inWindow, oldestInWindowAt, coldToday }: SendUsage,
  at: Date,
): AcceptedSend {
  const { accountId, operation, key } = send.key;
  const { messageId: subjectId, fingerprint, request } = send;
  const lane = splitAddress(request.to)?.domain ?? "";
  return {
    sender: { ...inbox, sentOn: day, sentCount: today, inWindow, oldestInWindowAt: oldestInWindowAt ?? createdAt },
    thread,
    message,
    keyUse: { accountId, operation, key, fingerprint, subjectId, createdAt: at, inboxId: inbox.id },
    outboxItem: { subjectId, accountId: inbox.accountId, inboxId: inbox.id, lane, dueAt: at, createdAt },
    coldSend:
      coldToday === undefined
        ? undefined
        : { inboxId: inbox.id, recipient: request.to.toLowerCase(), sentOn: day, sentToday: coldToday + 1 },
  };
}

/** Of a thread or an inbox the last state counts. */
function rowsOf(accepted: readonly AcceptedSend[]): AcceptedSends {
  return {
    keyUses: accepted.map(({ keyUse }) => keyUse),
    threads: [...new Map(accepted.map(({ thread }) => [thread.id, thread])).values()],
    messages: accepted.map(({ message }) => message),
    outboxItems: accepted.map(({ outboxItem }) => outboxItem),
    coldSends: coldSendsOf(accepted),
    senders: [...new Map(accepted.map(({ sender }) => [sender.id, sender])).values()],
  };
}

/** Those of this batch alone: the store adds them to what there is. */
function coldSendsOf(accepted: readonly AcceptedSend[]): ColdSends[] {
  const cold = new Map<string, ColdSends>();
  for (const { coldSend } of accepted) {
    if (coldSend === undefined) continue;
    const { inboxId, recipient, sentOn } = coldSend;
    const name = `${inboxId} ${recipient}`;
    cold.set(name, { inboxId, recipient, sentOn, count: (cold.get(name)?.count ?? 0) + 1 });
  }
  return [...cold.values()];
}
