import { recipientOf, splitAddress } from "../domain/address.ts";
import { recordMessage, type ThreadState } from "../domain/conversation.ts";
import { notFound, Refusal } from "../domain/errors.ts";
import { reusedIdempotencyKey } from "../domain/idempotency.ts";
import { refuseOverLimit, type SendUsage, utcDay } from "../domain/limits.ts";
import { previewOf } from "../domain/preview.ts";
import { type QuotedMessage, replySubject, withTextQuote } from "../domain/quote.ts";
import { replyReferences } from "../domain/references.ts";
import { withHtmlQuote } from "../mail/quote-html.ts";
import type { KeyName, KeyUse } from "../store/idempotency.ts";
import type { LockedInbox } from "../store/inboxes.ts";
import type { MessageRow } from "../store/messages.ts";
import type { NewOutboxItem } from "../store/outbox.ts";
import type { Recipient, RepliedMessage, SentMessage, WindowUse } from "../store/sending.ts";
import type { Deps } from "./deps.ts";
import type { PreparedSend, SendResult } from "./send-email.ts";

/** All that the judgement of a batch needs, read behind the lock on its inboxes. */
export interface SendFacts {
  /** Messages whose key was free. */
  taken: ReadonlySet<string>;
  keyUses: readonly KeyUse[];
  replays: readonly SentMessage[];
  inboxes: readonly LockedInbox[];
  windowUses: readonly WindowUse[];
  recipientUses: readonly (Recipient & { isKnown: boolean; sent: number })[];
  threads: readonly ThreadState[];
  replied: readonly RepliedMessage[];
  threadMessageIds: readonly { threadId: string; rfcMessageId: string }[];
  places: readonly { id: string; threadId: string; seq: number }[];
  owners: readonly { username: string; accountId: string }[];
}

/** What each send came to, in the order of the sends, and the rows that the accepted ones make. */
export interface Judgement {
  results: SendResult[];
  freedKeys: KeyName[];
  newThreads: ThreadState[];
  changedThreads: ThreadState[];
  messages: MessageRow[];
  outboxItems: NewOutboxItem[];
  coldSends: (Recipient & { count: number })[];
  inboxes: LockedInbox[];
}

/**
 * Judges sends one after the other, each seeing what those before it have used up: fifty at once get exactly as many
 * places as there are. A replay is found before any limit, so that a retry never fails on what the first call passed.
 */
export function judgeSends(
  sends: readonly PreparedSend[],
  facts: SendFacts,
  { mailDomain, limits }: Pick<Deps, "mailDomain" | "limits">,
): Judgement {
  const inboxes = new Map(facts.inboxes.map((inbox) => [inbox.id, inbox]));
  const threads = new Map(facts.threads.map((thread) => [thread.id, thread]));
  const knownThreads = new Set(threads.keys());
  const windows = new Map(facts.windowUses.map((use) => [use.inboxId, use]));
  const recipients = new Map(facts.recipientUses.map((use) => [`${use.inboxId} ${use.recipient}`, { ...use }]));
  const replied = new Map(facts.replied.map((message) => [message.threadId, message]));
  const messageIds = Map.groupBy(facts.threadMessageIds, ({ threadId }) => threadId);
  const newIds = new Map<string, string[]>();
  const touched = new Map<string, ThreadState>();
  const cold = new Map<string, Recipient & { count: number }>();
  const judgement: Judgement = {
    results: [],
    freedKeys: [],
    newThreads: [],
    changedThreads: [],
    messages: [],
    outboxItems: [],
    coldSends: [],
    inboxes: [],
  };

  for (const send of sends) {
    const usage = usageOf(send);
    try {
      judgement.results.push(facts.taken.has(send.messageId) ? accept(send, usage) : replay(send, usage));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (facts.taken.has(send.messageId)) judgement.freedKeys.push(send.use);
      judgement.results.push({ kind: "refused", refusal: error, usage });
    }
  }
  for (const thread of touched.values()) {
    (knownThreads.has(thread.id) ? judgement.changedThreads : judgement.newThreads).push(thread);
  }
  judgement.coldSends = [...cold.values()];
  judgement.inboxes = [...new Set(judgement.messages.map(({ inboxId }) => inboxId))].flatMap(
    (id) => inboxes.get(id) ?? [],
  );
  return judgement;

  function usageOf({ request, at }: PreparedSend): SendUsage | undefined {
    const inbox = inboxes.get(request.inboxId);
    if (inbox === undefined) return undefined;
    const window = windows.get(inbox.id);
    const recipient = recipients.get(`${inbox.id} ${request.to.toLowerCase()}`);
    return {
      inWindow: window?.inWindow ?? 0,
      oldestInWindowAt: window?.oldestInWindowAt,
      today: inbox.sentOn === utcDay(at) ? inbox.sentCount : 0,
      coldToday: recipient === undefined || recipient.isKnown ? undefined : recipient.sent,
    };
  }

  function replay(send: PreparedSend, usage: SendUsage | undefined): SendResult {
    const { accountId, key, fingerprint } = send.use;
    const use = facts.keyUses.find((each) => each.accountId === accountId && each.key === key);
    // The one that had the key was refused since, or has run out: this request is the first now.
    if (use === undefined) return { kind: "again" };
    if (use.fingerprint !== fingerprint) throw reusedIdempotencyKey();
    const message = facts.replays.find((each) => each.id === use.subjectId);
    if (message === undefined || usage === undefined) throw notFound("message");
    return { kind: "replayed", message, usage };
  }

  function accept(send: PreparedSend, usage: SendUsage | undefined): SendResult {
    const { request, at } = send;
    const inbox = inboxes.get(request.inboxId);
    if (inbox === undefined || usage === undefined) throw notFound("inbox");
    const thread = request.threadId === undefined ? undefined : threads.get(request.threadId);
    if (request.threadId !== undefined && thread?.inboxId !== inbox.id) throw notFound("thread");
    const newerInbound = thread !== undefined && hasNewerInbound(thread, request.readUpToMessageId);
    refuseForeignReplyTo(request);
    refuseOverLimit(usage, limits[request.account.plan], at);

    const content = contentOf(send, thread);
    const from = `${inbox.username}@${mailDomain}`;
    const recorded = recordMessage(inbox, thread, send.newThreadId, {
      id: send.messageId,
      direction: "outbound",
      at,
      subject: content.subject,
      preview: previewOf(send.text),
      hasAttachments: false,
      participants: [from, request.to],
      leavesUnread: newerInbound,
    });
    const today = utcDay(at);
    inboxes.set(inbox.id, { ...recorded.inbox, sentOn: today, sentCount: usage.today + 1 });
    windows.set(inbox.id, {
      inboxId: inbox.id,
      inWindow: usage.inWindow + 1,
      oldestInWindowAt: usage.oldestInWindowAt ?? recorded.createdAt,
    });
    if (usage.coldToday !== undefined) countCold(inbox.id, request.to.toLowerCase());
    threads.set(recorded.thread.id, recorded.thread);
    touched.set(recorded.thread.id, recorded.thread);
    newIds.set(recorded.thread.id, [...(newIds.get(recorded.thread.id) ?? []), send.rfcMessageId]);
    replied.set(recorded.thread.id, {
      threadId: recorded.thread.id,
      fromAddr: from,
      fromName: null,
      bodyText: content.bodyText,
      bodyHtml: content.bodyHtml ?? null,
      createdAt: recorded.createdAt,
      rfcMessageId: send.rfcMessageId,
    });
    const message = {
      id: send.messageId,
      inboxId: inbox.id,
      threadId: recorded.thread.id,
      status: "pending" as const,
      rfcMessageId: send.rfcMessageId,
      providerMessageId: null,
    };
    judgement.messages.push({
      ...message,
      seq: recorded.seq,
      direction: "outbound",
      directionSeq: recorded.directionSeq,
      createdAt: recorded.createdAt,
      messageIdHash: send.messageIdHash,
      contentHash: null,
      fromAddr: from,
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
      failure: null,
    });
    judgement.outboxItems.push({
      subjectId: send.messageId,
      kind: "relay",
      accountId: inbox.accountId,
      inboxId: inbox.id,
      lane: splitAddress(request.to)?.domain ?? "",
      dueAt: at,
      createdAt: at,
    });
    return {
      kind: "accepted",
      message,
      usage: { ...usage, ...windows.get(inbox.id), today: usage.today + 1 },
      newerInbound,
    };
  }

  function contentOf({ request, text, html }: PreparedSend, thread: ThreadState | undefined) {
    const subject = request.subject ?? replySubject(thread?.subject ?? "");
    const previous = thread && replied.get(thread.id);
    if (thread === undefined || previous === undefined) {
      return { subject, bodyText: text, bodyHtml: html, inReplyTo: undefined, references: [] };
    }
    const known = (messageIds.get(thread.id) ?? []).map(({ rfcMessageId }) => rfcMessageId);
    const references = replyReferences([...known, ...(newIds.get(thread.id) ?? [])]);
    const quoted = quotedMessage(previous);
    return {
      subject,
      bodyText: request.includeQuote ? withTextQuote(text, quoted) : text,
      bodyHtml: html !== undefined && request.includeQuote ? withHtmlQuote(html, quoted) : html,
      inReplyTo: previous.rfcMessageId,
      references,
    };
  }

  /** Inbound mail that the caller has not seen yet keeps the thread unread. */
  function hasNewerInbound(thread: ThreadState, readUpToMessageId: string | undefined): boolean {
    if (readUpToMessageId === undefined) return false;
    const place = facts.places.find((each) => each.id === readUpToMessageId);
    if (place?.threadId !== thread.id) throw notFound("message");
    return thread.lastInboundSeq > place.seq;
  }

  function refuseForeignReplyTo({ replyTo, account }: PreparedSend["request"]): void {
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
    const key = `${inboxId} ${recipient}`;
    const use = recipients.get(key);
    if (use !== undefined) use.sent += 1;
    cold.set(key, { inboxId, recipient, count: (cold.get(key)?.count ?? 0) + 1 });
  }
}

function quotedMessage(message: RepliedMessage): QuotedMessage {
  const from =
    message.fromAddr === ""
      ? undefined
      : { address: message.fromAddr, ...(message.fromName !== null && { name: message.fromName }) };
  return { from, at: message.createdAt, bodyText: message.bodyText, bodyHtml: message.bodyHtml ?? undefined };
}
