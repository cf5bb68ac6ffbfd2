import { recipientOf, splitAddress } from "../domain/address.ts";
import { recordMessage, type ThreadState } from "../domain/conversation.ts";
import { notFound, Refusal } from "../domain/errors.ts";
import { expiryOfKeys, reusedIdempotencyKey } from "../domain/idempotency.ts";
import { type PlanLimits, refuseOverLimit, type SendUsage, utcDay } from "../domain/limits.ts";
import { previewOf } from "../domain/preview.ts";
import type { KeyUse } from "../store/idempotency.ts";
import type { RepliedMessage, Sender, SendFact, SentMessage } from "../store/send-facts.ts";
import type { AcceptedSends, OutboundMessage, Recipient } from "../store/sending.ts";
import { replyContent } from "./reply-content.ts";
import type { Send, SendRequest, SendResult } from "./send-email.ts";
import { usageOf } from "./send-usage.ts";

/** All that the judgement of a batch needs. */
export interface SendFacts {
  /** Of each send, in their order. */
  facts: readonly SendFact[];
  /** What the messages have become that used keys stand for. */
  replays: readonly SentMessage[];
  threads: readonly ThreadState[];
  replied: readonly RepliedMessage[];
  threadMessageIds: readonly { threadId: string; rfcMessageId: string }[];
  places: readonly { id: string; threadId: string; seq: number }[];
  owners: readonly { username: string; accountId: string }[];
}

export interface Judging {
  /** One instant for the whole batch: its sends fall into one window and on one day. */
  at: Date;
  mailDomain: string;
  limits: PlanLimits;
}

/** What each send came to, and the rows that the accepted ones make. */
export interface Judgement extends AcceptedSends {
  results: Map<Send, SendResult>;
}

/**
 * Judges sends one after the other, each seeing what those before it have used up: fifty at once get exactly as many
 * places as there are, and fifty with one key are one email and 49 replays. A replay is found before any limit, so
 * that a retry never fails on what the first call passed.
 */
export function judgeSends(sends: readonly Send[], facts: SendFacts, { at, mailDomain, limits }: Judging): Judgement {
  const today = utcDay(at);
  const senders = new Map<string, Sender>();
  const recipients = new Map<string, NonNullable<SendFact["recipient"]>>();
  const used = new Map<string, KeyUse>();
  for (const [index, send] of sends.entries()) {
    const { sender, recipient, use } = facts.facts[index] ?? {};
    if (sender !== undefined) senders.set(sender.id, sender);
    if (recipient !== undefined) recipients.set(pairOf(send.request), { ...recipient });
    if (use !== undefined && use.createdAt > expiryOfKeys(at)) used.set(send.key.label, use);
  }
  const threads = new Map(facts.threads.map((thread) => [thread.id, thread]));
  const replied = new Map(facts.replied.map((message) => [message.threadId, message]));
  const threadMessageIds = Map.groupBy(facts.threadMessageIds, ({ threadId }) => threadId);
  const sent = new Map(facts.replays.map((message) => [message.id, message]));
  const cold = new Map<string, Recipient & { count: number }>();
  const touchedThreads = new Map<string, ThreadState>();
  const touchedSenders = new Map<string, Sender>();
  const results = new Map<Send, SendResult>();
  const keyUses: AcceptedSends["keyUses"][number][] = [];
  const messages: OutboundMessage[] = [];
  const outboxItems: AcceptedSends["outboxItems"][number][] = [];

  for (const send of sends) results.set(send, judged(send));
  return {
    results,
    keyUses,
    threads: [...touchedThreads.values()],
    messages,
    outboxItems,
    coldSends: [...cold.values()],
    senders: [...touchedSenders.values()],
  };

  function judged(send: Send): SendResult {
    const sender = senders.get(send.request.inboxId);
    const usage = usageOf({ sender, recipient: recipients.get(pairOf(send.request)) }, today);
    try {
      if (sender === undefined || usage === undefined) throw notFound("inbox");
      const use = used.get(send.key.label);
      return use === undefined ? accepted(send, sender, usage) : replayed(send, use, usage);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { kind: "refused", refusal: error, usage };
    }
  }

  function replayed(send: Send, use: KeyUse, usage: SendUsage): SendResult {
    if (use.fingerprint !== send.fingerprint) throw reusedIdempotencyKey();
    const message = sent.get(use.subjectId);
    if (message === undefined) throw notFound("message");
    return { kind: "replayed", message, usage };
  }

  function accepted(send: Send, sender: Sender, usage: SendUsage): SendResult {
    const { request } = send;
    const thread = request.threadId === undefined ? undefined : threads.get(request.threadId);
    if (request.threadId !== undefined && thread?.inboxId !== sender.id) throw notFound("thread");
    const newerInbound = thread !== undefined && hasNewerInbound(thread, request.readUpToMessageId);
    refuseForeignReplyTo(request);
    refuseOverLimit(usage, limits[request.account.plan], at);

    const from = `${sender.username}@${mailDomain}`;
    const knownIds = threadMessageIds.get(thread?.id ?? "") ?? [];
    const content = replyContent(send, thread && { ...thread, messageIds: knownIds, replied: replied.get(thread.id) });
    const recorded = recordMessage(sender, thread, send.newThreadId, {
      id: send.messageId,
      direction: "outbound",
      at,
      subject: content.subject,
      preview: previewOf(send.text),
      hasAttachments: false,
      participants: [from, request.to],
      leavesUnread: newerInbound,
    });
    const { createdAt } = recorded;
    const threadId = recorded.thread.id;
    const row: OutboundMessage = {
      id: send.messageId,
      inboxId: sender.id,
      threadId,
      seq: recorded.seq,
      directionSeq: recorded.directionSeq,
      createdAt,
      rfcMessageId: send.rfcMessageId,
      messageIdHash: send.messageIdHash,
      fromAddr: from,
      toAddr: request.to,
      replyTo: request.replyTo,
      subject: content.subject,
      bodyText: content.bodyText,
      bodyHtml: content.bodyHtml,
      inReplyTo: content.inReplyTo,
      referenceIds: content.references,
    };
    const message: SentMessage = {
      id: row.id,
      inboxId: row.inboxId,
      threadId,
      status: "pending",
      rfcMessageId: row.rfcMessageId,
      providerMessageId: null,
    };
    messages.push(row);
    keyUses.push({ ...useOf(send), inboxId: sender.id });
    outboxItems.push({
      subjectId: send.messageId,
      accountId: sender.accountId,
      inboxId: sender.id,
      lane: splitAddress(request.to)?.domain ?? "",
      dueAt: at,
      createdAt,
    });

    const oldestInWindowAt = usage.oldestInWindowAt ?? createdAt;
    const inWindow = usage.inWindow + 1;
    const counted = { ...recorded.inbox, sentOn: today, sentCount: usage.today + 1, inWindow, oldestInWindowAt };
    senders.set(sender.id, counted);
    touchedSenders.set(sender.id, counted);
    threads.set(threadId, recorded.thread);
    touchedThreads.set(threadId, recorded.thread);
    threadMessageIds.set(threadId, [...knownIds, message]);
    replied.set(threadId, { ...row, fromName: null, bodyHtml: row.bodyHtml ?? null });
    sent.set(message.id, message);
    used.set(send.key.label, useOf(send));
    if (usage.coldToday !== undefined) countCold(request, usage.coldToday + 1);
    return {
      kind: "accepted",
      message,
      usage: { ...usage, inWindow, oldestInWindowAt, today: usage.today + 1 },
      newerInbound,
    };
  }

  /** Inbound mail that the caller has not seen yet keeps the thread unread. */
  function hasNewerInbound(thread: ThreadState, readUpToMessageId: string | undefined): boolean {
    if (readUpToMessageId === undefined) return false;
    const place = facts.places.find((each) => each.id === readUpToMessageId);
    if (place?.threadId !== thread.id) throw notFound("message");
    return thread.lastInboundSeq > place.seq;
  }

  function refuseForeignReplyTo({ replyTo, account }: SendRequest): void {
    if (replyTo === undefined || account.plan !== "free") return;
    const recipient = recipientOf(replyTo, mailDomain);
    const isOwn =
      recipient.kind === "inbox" &&
      facts.owners.some((owner) => owner.username === recipient.username && owner.accountId === account.id);
    if (isOwn) return;
    throw new Refusal(
      "feature_requires_paid_plan",
      'Cannot send: "replyTo" must be the address of an inbox of this account on the free plan',
      { extra: { feature: "external_reply_to" } },
    );
  }

  function countCold(request: SendRequest, sentToday: number): void {
    const name = pairOf(request);
    recipients.set(name, { isKnown: false, sentToday });
    const count = (cold.get(name)?.count ?? 0) + 1;
    cold.set(name, { inboxId: request.inboxId, recipient: request.to.toLowerCase(), count });
  }

  function useOf({ key: { accountId, operation, key }, fingerprint, messageId }: Send): KeyUse {
    return { accountId, operation, key, fingerprint, subjectId: messageId, createdAt: at };
  }
}

/** An inbox and whom it sends to: mail to strangers is counted by both. */
function pairOf({ inboxId, to }: SendRequest): string {
  return `${inboxId} ${to.toLowerCase()}`;
}
