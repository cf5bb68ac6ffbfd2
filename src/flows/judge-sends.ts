import { recipientOf, splitAddress } from "../domain/address.ts";
import { recordMessage, type ThreadState } from "../domain/conversation.ts";
import { notFound, Refusal } from "../domain/errors.ts";
import { expiryOfKeys, reusedIdempotencyKey } from "../domain/idempotency.ts";
import { type PlanLimits, refuseOverLimit, type SendUsage, utcDay } from "../domain/limits.ts";
import { previewOf } from "../domain/preview.ts";
import type { KeyUse } from "../store/idempotency.ts";
import type { MessageRow } from "../store/messages.ts";
import type { AcceptedSends, Recipient, RepliedMessage, Sender, SentMessage, WindowUse } from "../store/sending.ts";
import { replyContent } from "./reply-content.ts";
import type { Send, SendRequest, SendResult } from "./send-email.ts";

/** All that the judgement of a batch needs, read behind the lock on its inboxes. */
export interface SendFacts {
  keyUses: readonly KeyUse[];
  /** What the messages have become that these keys stand for. */
  replays: readonly SentMessage[];
  senders: readonly Sender[];
  windowUses: readonly WindowUse[];
  recipientUses: readonly (Recipient & { isKnown: boolean; sent: number })[];
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
  const senders = new Map(facts.senders.map((sender) => [sender.id, sender]));
  const threads = new Map(facts.threads.map((thread) => [thread.id, thread]));
  const windows = new Map(facts.windowUses.map((use) => [use.inboxId, use]));
  const recipients = new Map(facts.recipientUses.map((use) => [`${use.inboxId} ${use.recipient}`, { ...use }]));
  const replied = new Map(facts.replied.map((message) => [message.threadId, message]));
  const threadMessageIds = Map.groupBy(facts.threadMessageIds, ({ threadId }) => threadId);
  const sent = new Map(facts.replays.map((message) => [message.id, message]));
  const used = new Map(
    facts.keyUses.filter(({ createdAt }) => createdAt > expiryOfKeys(at)).map((use) => [use.key + use.accountId, use]),
  );
  const cold = new Map<string, Recipient & { count: number }>();
  const touchedThreads = new Map<string, ThreadState>();
  const touchedSenders = new Map<string, Sender>();
  const results = new Map<Send, SendResult>();
  const keyUses: KeyUse[] = [];
  const messages: MessageRow[] = [];
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
    const usage = usageOf(send.request);
    try {
      if (usage === undefined) throw notFound("inbox");
      const use = used.get(send.key.key + send.key.accountId);
      return use === undefined ? accepted(send, usage) : replayed(send, use, usage);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { kind: "refused", refusal: error, usage };
    }
  }

  function usageOf(request: SendRequest): SendUsage | undefined {
    const sender = senders.get(request.inboxId);
    if (sender === undefined) return undefined;
    const window = windows.get(sender.id);
    const recipient = recipients.get(`${sender.id} ${request.to.toLowerCase()}`);
    return {
      inWindow: window?.inWindow ?? 0,
      oldestInWindowAt: window?.oldestInWindowAt,
      today: sender.sentOn === today ? sender.sentCount : 0,
      coldToday: recipient === undefined || recipient.isKnown ? undefined : recipient.sent,
    };
  }

  function replayed(send: Send, use: KeyUse, usage: SendUsage): SendResult {
    if (use.fingerprint !== send.fingerprint) throw reusedIdempotencyKey();
    const message = sent.get(use.subjectId);
    if (message === undefined) throw notFound("message");
    return { kind: "replayed", message, usage };
  }

  function accepted(send: Send, usage: SendUsage): SendResult {
    const { request } = send;
    const sender = senders.get(request.inboxId);
    if (sender === undefined) throw notFound("inbox");
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
    const row = messageRow(send, { ...content, ...recorded, from, inboxId: sender.id, threadId: recorded.thread.id });
    const message: SentMessage = { ...row };
    messages.push(row);
    keyUses.push(useOf(send));
    outboxItems.push({
      subjectId: send.messageId,
      kind: "relay",
      accountId: sender.accountId,
      inboxId: sender.id,
      lane: splitAddress(request.to)?.domain ?? "",
      dueAt: at,
      createdAt,
    });

    const counted = { ...recorded.inbox, sentOn: today, sentCount: usage.today + 1 };
    senders.set(sender.id, counted);
    touchedSenders.set(sender.id, counted);
    threads.set(recorded.thread.id, recorded.thread);
    touchedThreads.set(recorded.thread.id, recorded.thread);
    threadMessageIds.set(recorded.thread.id, [...knownIds, message]);
    replied.set(recorded.thread.id, row);
    sent.set(message.id, message);
    used.set(send.key.key + send.key.accountId, useOf(send));
    if (usage.coldToday !== undefined) countCold(sender.id, request.to.toLowerCase());
    const inWindow = usage.inWindow + 1;
    const oldestInWindowAt = usage.oldestInWindowAt ?? createdAt;
    windows.set(sender.id, { inboxId: sender.id, inWindow, oldestInWindowAt });
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

  function countCold(inboxId: string, recipient: string): void {
    const name = `${inboxId} ${recipient}`;
    const use = recipients.get(name);
    if (use !== undefined) use.sent += 1;
    cold.set(name, { inboxId, recipient, count: (cold.get(name)?.count ?? 0) + 1 });
  }

  function useOf({ key: { accountId, operation, key }, fingerprint, messageId }: Send): KeyUse {
    return { accountId, operation, key, fingerprint, subjectId: messageId, createdAt: at };
  }
}

interface MessageContent extends ReturnType<typeof replyContent> {
  seq: number;
  directionSeq: number;
  createdAt: Date;
  from: string;
  inboxId: string;
  threadId: string;
}

function messageRow(send: Send, content: MessageContent): MessageRow {
  const { request, messageId, rfcMessageId, messageIdHash } = send;
  const { seq, directionSeq, createdAt, inboxId, threadId } = content;
  return {
    id: messageId,
    inboxId,
    threadId,
    seq,
    direction: "outbound",
    directionSeq,
    status: "pending",
    createdAt,
    rfcMessageId,
    messageIdHash,
    contentHash: null,
    fromAddr: content.from,
    fromName: null,
    toAddr: request.to,
    cc: [],
    replyTo: request.replyTo ?? null,
    subject: content.subject,
    bodyText: content.bodyText,
    bodyHtml: content.bodyHtml ?? null,
    attachmentCount: 0,
    sourceId: null,
    sizeBytes: null,
    inReplyTo: content.inReplyTo ?? null,
    referenceIds: content.references,
    providerMessageId: null,
    failure: null,
  };
}
