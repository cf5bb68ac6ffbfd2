import type { ThreadState } from "../conversation.ts";
import { notFound } from "../errors.ts";
import { shownLabels } from "../filing.ts";
import { expiryOfKeys, type KeyUse } from "../idempotency.ts";
import type { RuleBook } from "../rules.ts";
import type { AcceptedDraft, AcceptedSend } from "./accepted-sends.ts";
import type { Rejection } from "./approval.ts";
import { type Draft, type DraftFact, draftOf, isOpen, isWaiting } from "./draft.ts";
import { mostRecentMessages, type RecentMessage } from "./loop.ts";
import { lastShared, quotesLast } from "./quotable.ts";
import type { Recipient as RecipientEntry } from "./recipients/entries.ts";
import type { Replied, RepliedThread } from "./reply-content.ts";
import type { Send, SendRequest, SentMessage } from "./send.ts";
import {
  type AnsweredById,
  type AskedReply,
  answeredUpTo,
  type NumberedMessage,
  nameOfReply,
  type Owner,
  type Recipient,
  type Sender,
  type SendFacts,
  type ThreadMessageId,
} from "./send-facts.ts";
import type { SuppressedAddress } from "./suppressed.ts";

/**
 * The state of a batch whose sends are judged one after the other: the facts that were read, with the changes by the sends accepted so
 * far. It is changed in place, because a new copy for each send would take time quadratic in the size of the batch.
 */
export interface SendingState {
  senders: Map<string, Sender>;
  /** The recipients, with what counts for the limit on cold ones, by inbox and address (`pairOf`). */
  recipients: Map<string, Recipient>;
  /** The suppressed recipients of each send, by the label of its key. */
  suppressed: Map<string, readonly SuppressedAddress[]>;
  /** The valid earlier uses of idempotency keys, by the label of the key. */
  keyUses: Map<string, KeyUse>;
  sent: Map<string, SentMessage>;
  threads: Map<string, ThreadState>;
  /** The last messages of each thread, newest first. */
  recentMessages: Map<string, readonly RecentMessage[]>;
  /** The answered messages, by `nameOfReply`. */
  replied: Map<string, Replied>;
  /** The messages that a reply may quote, by thread: the last one, then earlier ones, newest first. */
  quotable: Map<string, readonly Replied[]>;
  threadMessageIds: Map<string, readonly Omit<ThreadMessageId, keyof AskedReply>[]>;
  numbered: ReadonlyMap<string, NumberedMessage>;
  /** Our last message in each thread that did not fail, as far as sends with `ifUnanswered` need it. */
  answers: Map<string, Pick<NumberedMessage, "id" | "seq">>;
  owners: readonly Owner[];
  answered: ReadonlyMap<string, AnsweredById>;
  lostSources: ReadonlySet<string>;
  /** The rules and policies by account. */
  books: ReadonlyMap<string, RuleBook>;
  /** The labels of each inbox whose sends have labels. */
  labelsOf: Map<string, ReadonlySet<string>>;
  /** The inboxes and addresses (`pairOf`) of the recipients that are known to a send whose policy asks for it. */
  known: ReadonlySet<string>;
  rejections: readonly Rejection[];
  drafts: Map<string, DraftFact>;
  /** The drafts that a repeated request may be about. */
  replayedDrafts: Map<string, Draft>;
  openDrafts: Map<string, number>;
  /** The accepted drafts of each thread that are not sent yet, as far as sends with `ifUnanswered` need them. */
  waiting: Map<string, readonly string[]>;
}

export function sendingState(sends: readonly Send[], facts: SendFacts, at: Date): SendingState {
  const state: SendingState = {
    senders: new Map(),
    recipients: new Map(),
    suppressed: new Map(),
    keyUses: new Map(),
    sent: new Map(facts.replays.map((message) => [message.id, message])),
    threads: new Map(facts.threads.map((thread) => [thread.id, thread])),
    recentMessages: new Map(facts.threads.map(({ id, recent }) => [id, recent])),
    replied: new Map(facts.replied.map((message) => [nameOfReply(message), message])),
    quotable: quotableOf(facts),
    threadMessageIds: Map.groupBy(facts.threadMessageIds, nameOfReply),
    numbered: new Map(facts.numbered.map((message) => [message.id, message])),
    answers: new Map(
      facts.answers?.toSorted((one, other) => one.seq - other.seq).map((answer) => [answer.threadId, answer]),
    ),
    owners: facts.owners,
    lostSources: facts.lostSources ?? new Set(),
    answered: new Map(facts.answered?.map((message) => [message.id, message])),
    books: facts.books ?? new Map(),
    labelsOf: new Map(),
    known: new Set(facts.knownRecipients?.map(({ inboxId, address }) => pairOf(inboxId, address))),
    rejections: facts.rejections ?? [],
    drafts: new Map(facts.drafts?.map((draft) => [draft.id, draft])),
    replayedDrafts: new Map(facts.replayedDrafts?.map((draft) => [draft.id, draft])),
    openDrafts: new Map(facts.openDrafts),
    waiting: new Map(
      [...Map.groupBy(facts.waiting ?? [], ({ threadId }) => threadId)].map(([threadId, drafts]) => [
        threadId,
        drafts.map(({ id }) => id),
      ]),
    ),
  };
  for (const [inboxId, labels] of Map.groupBy(facts.labels ?? [], ({ inboxId }) => inboxId)) {
    state.labelsOf.set(inboxId, new Set(labels.map(({ label }) => label)));
  }
  for (const [index, send] of sends.entries()) {
    const { sender, recipient, use, suppressed = [] } = facts.facts[index] ?? {};
    if (sender !== undefined) state.senders.set(sender.id, sender);
    const [only] = send.request.recipients;
    if (recipient !== undefined && only !== undefined)
      state.recipients.set(pairOf(send.request.inboxId, only.address), recipient);
    if (suppressed.length > 0) state.suppressed.set(send.key.label, suppressed);
    if (use !== undefined && use.createdAt > expiryOfKeys(at)) state.keyUses.set(send.key.label, use);
  }
  for (const recipient of facts.recipients ?? []) {
    state.recipients.set(pairOf(recipient.inboxId, recipient.address), recipient);
  }
  return state;
}

export function knownRecipient({ recipients }: SendingState, inboxId: string, address: string): Recipient | undefined {
  return recipients.get(pairOf(inboxId, address));
}

/** Whether a recipient is known, for a send whose policy asks for it. */
export function isKnownRecipient({ known }: SendingState, inboxId: string, address: string): boolean {
  return known.has(pairOf(inboxId, address));
}

/** The id of the thread that a request answers in: the one that it names, or that of the answered message. Undefined for a new thread. */
export function threadIdOf({ answered }: SendingState, request: SendRequest): string | undefined {
  const { threadId, replyToMessageId, inboxId } = request;
  if (replyToMessageId === undefined) return threadId;
  const message = answered.get(replyToMessageId);
  const isHere = message?.inboxId === inboxId && (threadId === undefined || message.threadId === threadId);
  if (!isHere) throw notFound("message");
  return message.threadId;
}

function quotableOf({ replied, quotable = [] }: SendFacts): Map<string, Replied[]> {
  const newestFirst = quotable.toSorted((one, other) => other.seq - one.seq);
  const last = replied.filter(({ upToMessageId }) => upToMessageId === null);
  return Map.groupBy([...last, ...newestFirst], ({ threadId }) => threadId);
}

/** The thread, with the message that the request answers: the one named by id, else the last one that the caller saw, else the last one. */
export function repliedThread(
  state: SendingState,
  request: SendRequest,
  thread: ThreadState,
): Omit<RepliedThread, "quoted"> {
  const byId = state.answered.get(request.replyToMessageId ?? "");
  const upToMessageId = byId === undefined ? (answeredUpTo(request) ?? null) : null;
  const name = nameOfReply({ threadId: thread.id, upToMessageId });
  const messageIds = state.threadMessageIds.get(name) ?? [];
  if (byId !== undefined) {
    const wireName = messageIds.find(({ rfcMessageId }) => rfcMessageId === byId.rfcMessageId)?.wireName ?? null;
    return { subject: thread.subject, messageIds, replied: { ...byId, wireName } };
  }
  const replied = state.replied.get(name);
  // Leaves out later messages, so that References never name a message that the caller has not seen.
  const isAncestor = ({ seq }: { seq: number }) => replied === undefined || seq <= replied.seq;
  return {
    subject: thread.subject,
    messageIds: upToMessageId === null ? messageIds : messageIds.filter(isAncestor),
    replied,
  };
}

/** The message that a reply quotes: the answered one if the request names it, else the newest one that a recipient wrote or got. */
export function quotedMessage(
  state: SendingState,
  request: SendRequest,
  thread: ThreadState,
  { replied, recipients, ownAddresses }: Quoting,
): Replied | undefined {
  if (!quotesLast(request)) return replied;
  const messages = state.quotable.get(thread.id) ?? [];
  if (draftOf(request.step)?.answeredId == null) return lastShared(messages, recipients, ownAddresses);
  // A draft quotes nothing that came after it was written.
  const earlier = replied === undefined ? [] : [replied, ...messages.filter(({ seq }) => seq < replied.seq)];
  return lastShared(earlier, recipients, ownAddresses);
}

interface Quoting {
  replied: Replied | undefined;
  recipients: readonly RecipientEntry[];
  ownAddresses: readonly string[];
}

/**
 * Adds an accepted send to the state of its batch: the new counts of its inbox and of its cold recipients, the use of its idempotency key,
 * and its message, which the next send may answer.
 */
export function noteAccepted(state: SendingState, { key, request }: Send, accepted: AcceptedSend): void {
  const { sender, thread, message, keyUse } = accepted;
  if (thread.labels.length > 0) {
    const before = state.labelsOf.get(sender.id) ?? new Set();
    state.labelsOf.set(sender.id, before.union(new Set(shownLabels(thread))));
  }
  const draft = draftOf(request.step);
  if (draft !== undefined) noteDraft(state, draft, { ...draft, state: "sent", messageStatus: "pending" });
  state.senders.set(sender.id, sender);
  state.sent.set(message.id, sentMessage(accepted));
  if (keyUse !== undefined) state.keyUses.set(key.label, keyUse);
  for (const { inboxId, recipient, sentToday } of accepted.coldSends) {
    state.recipients.set(pairOf(inboxId, recipient), { isKnown: false, sentToday });
  }
  // Skips a new thread: nobody knows its id yet, so no send of this batch can answer in it.
  if (!state.threads.has(thread.id)) return;
  state.threads.set(thread.id, thread);
  state.answers.set(thread.id, { id: message.id, seq: message.seq });
  const recent: RecentMessage[] = [{ ...message, direction: "outbound", automated: null }];
  const before = state.recentMessages.get(thread.id) ?? [];
  state.recentMessages.set(thread.id, recent.concat(before).slice(0, mostRecentMessages));
  const wholeThread = nameOfReply({ threadId: thread.id, upToMessageId: null });
  state.threadMessageIds.set(wholeThread, [
    ...(state.threadMessageIds.get(wholeThread) ?? []),
    { ...message, wireName: null },
  ]);
  const bcc = accepted.recipients.flatMap(({ type, address }) => (type === "bcc" ? [address] : []));
  const replied: Replied = {
    ...message,
    direction: "outbound",
    fromName: message.fromName ?? null,
    bodyHtml: message.bodyHtml ?? null,
    replyTo: message.replyTo ?? null,
    replyTos: null,
    wireName: null,
    envelopeFrom: null,
    bcc,
  };
  state.replied.set(wholeThread, replied);
  state.quotable.set(thread.id, [replied, ...(state.quotable.get(thread.id) ?? [])]);
}

/** Adds an accepted draft to the state of its batch. */
export function noteAcceptedDraft(state: SendingState, { key, request }: Send, accepted: AcceptedDraft): void {
  const { sender, thread, draft, keyUse } = accepted;
  state.senders.set(sender.id, sender);
  if (keyUse !== undefined) state.keyUses.set(key.label, keyUse);
  state.replayedDrafts.set(draft.id, draft);
  if (thread !== undefined) state.threads.set(thread.id, thread);
  noteDraft(state, draftOf(request.step), { ...draft, messageStatus: null });
}

function noteDraft(state: SendingState, before: Draft | undefined, draft: DraftFact & Draft): void {
  state.drafts.set(draft.id, draft);
  const opened = (isOpen(draft.state) ? 1 : 0) - (before === undefined ? 0 : 1);
  state.openDrafts.set(draft.inboxId, (state.openDrafts.get(draft.inboxId) ?? 0) + opened);
  const others = (state.waiting.get(draft.threadId) ?? []).filter((id) => id !== draft.id);
  state.waiting.set(draft.threadId, isWaiting(draft.state) ? [...others, draft.id] : others);
}

export function sentMessage({ message, recipients }: Pick<AcceptedSend, "message" | "recipients">): SentMessage {
  const { id, inboxId, threadId, rfcMessageId } = message;
  return {
    id,
    inboxId,
    threadId,
    status: "pending",
    rfcMessageId,
    providerMessageId: null,
    recipients: recipients.map(({ address, name = null, type, status, failure }) => ({
      address,
      name,
      type,
      status,
      providerMessageId: null,
      failure,
    })),
  };
}

/** The key for an inbox and a recipient. Mail to cold recipients is counted for each such pair. */
function pairOf(inboxId: string, address: string): string {
  return `${inboxId} ${address.toLowerCase()}`;
}
