import { inboxAddress, usernameAt } from "../../standards/address.ts";
import { type MessageFacts, recordMessage, type ThreadState, withThread } from "../conversation.ts";
import { domainNotVerified, isProven } from "../domains/readiness.ts";
import { notFound, Refusal } from "../errors.ts";
import { type FiledThread, fileThread } from "../filing.ts";
import { type KeyUse, reusedIdempotencyKey } from "../idempotency.ts";
import { labelsAfter, labelsOfInboxAfter, refuseLabelsOver } from "../labels.ts";
import { type Limits, limitsOf, type PlanLimits, refuseOverLimit, refuseOverQuota, type SendUsage } from "../limits.ts";
import { previewOf } from "../preview.ts";
import {
  type AcceptedDraft,
  type AcceptedSend,
  type AcceptedSends,
  acceptedDraft,
  acceptedSend,
  joinedRows,
  sizeOfSend,
} from "./accepted-sends.ts";
import { refuseClosed, refuseDisabled, refuseNotAllowed, sendRule } from "./allowed-recipients.ts";
import { type ApprovalNeed, defaultApprovalHours, draftRejected, fingerprintOfMail, isApproved } from "./approval.ts";
import { refuseLost } from "./attachments.ts";
import { type Draft, draftNotOpen, draftOf, isWaiting, refuseChangedDraft, refuseOverOpenDrafts } from "./draft.ts";
import { type HtmlBodies, mailContent } from "./forward-content.ts";
import { draftContent, type Kept, keptDraft, type Replying, requestedEvent, unsentMessage } from "./kept-draft.ts";
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
  noteAcceptedDraft,
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
  /** The most open drafts of an inbox. */
  openDraftsMax?: number | undefined;
  /** The hours for which a mail waits for a person. */
  approvalHours?: number | undefined;
}

/** The results of a batch of sends, and the rows of the accepted sends. */
export interface Judgement extends AcceptedSends {
  results: Map<Send, SendResult>;
}

/** The result of one send, and its rows if it is accepted. */
export interface JudgedSend {
  result: SendResult;
  accepted?: AcceptedSend | AcceptedDraft;
}

/**
 * Accepts or refuses sends in order, each with the usage of the earlier ones. If the limit has ten sends left, ten of fifty sends at once
 * are accepted. Fifty sends with the same idempotency key make one email and 49 replays.
 */
export function judgeSends(sends: readonly Send[], facts: SendFacts, judging: Judging): Judgement {
  const state = sendingState(sends, facts, judging.at);
  const before = new Map(state.threads);
  const results = new Map<Send, SendResult>();
  const accepted: (AcceptedSend | AcceptedDraft)[] = [];
  for (const send of sends) {
    const judged = judgeSend(state, send, judging);
    results.set(send, judged.result);
    if (judged.accepted !== undefined) accepted.push(judged.accepted);
  }
  return { results, ...joinedRows(accepted, before) };
}

/** Accepts or refuses one send. Looks for a replay before it checks a limit, so that a retry never fails if the first call was accepted. */
export function judgeSend(state: SendingState, send: Send, judging: Judging): JudgedSend {
  const sender = state.senders.get(send.request.inboxId);
  const usage = usageOf(sender, judging.at);
  try {
    if (sender === undefined || usage === undefined) throw notFound("inbox");
    const use = state.keyUses.get(send.key.label);
    if (use === undefined) return accept(state, send, { sender, usage }, judging);
    return { result: { kind: "replayed", ...replayed(state, send, use), usage } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { result: { kind: "refused", refusal: error, usage } };
  }
}

function replayed(
  { sent, replayedDrafts }: SendingState,
  send: Send,
  use: KeyUse,
): { message: SentMessage; draft?: Draft } {
  if (use.fingerprint !== send.fingerprint) throw reusedIdempotencyKey();
  const draft = replayedDrafts.get(use.subjectId);
  const message = sent.get(use.subjectId) ?? (draft && unsentMessage(draft));
  if (message === undefined) throw notFound(send.key.operation === "create_draft" ? "draft" : "message");
  return { message, ...(draft && { draft }) };
}

/** An inbox, with the counts of its sends before this one. */
interface Standing {
  sender: Sender;
  usage: SendUsage;
}

/**
 * Accepts or refuses a send that is no replay: as a message that goes into the outbox, or as a draft. What comes now, at its time or by an
 * approval goes through this one function.
 */
function accept(state: SendingState, send: Send, standing: Standing, judging: Judging): JudgedSend {
  const { request } = send;
  const { mailDomain, recipientsMax, at } = judging;
  const { sender } = standing;
  if (request.step !== undefined && request.step.kind !== "create")
    refuseChangedDraft(request.step, state.drafts.get(request.step.draft.id));
  const asked = stateAfter(request, at);
  const isKept = asked === "draft";
  const given = request.fromAddr === undefined ? undefined : requestedFrom(request.fromAddr, sender, mailDomain);
  const fromName = request.fromName === undefined ? sender.displayName : request.fromName;
  const thread = threadOf(state, request);
  const replying = thread && replyingIn(state, request, thread);
  if (!isKept && replying !== undefined) refuseAnswered(state, request, replying);
  refuseLost(request, state.lostSources);
  refuseForeignReplyTo(state, request, mailDomain);
  const book = state.books.get(request.account.id);
  const rule = sendRule(request.account, sender, book);
  if (!isKept) {
    refuseDisabled(sender);
    refuseClosed(rule);
  }
  const replied = thread && repliedThread(state, request, thread);
  const from = given ?? usualFrom(replied?.replied, sender, mailDomain);
  const ownAddresses = ownAddressesOf(sender, mailDomain);
  const isUnaddressed = isKept && thread === undefined;
  const recipients = isUnaddressed
    ? request.recipients
    : recipientsOfSend(request, replied?.replied, { mailDomain, recipientsMax, ownAddresses });
  refuseUnsubscribeOfSeveral(request, recipients);
  const isKnown = (address: string) => isKnownRecipient(state, request.inboxId, address);
  const addresses = recipients.map(({ address }) => address);
  const need = isKept
    ? undefined
    : needAfter(request, addresses, refuseNotAllowed(addresses, { rule, sender, book, isKnown }));
  const becomes = need === undefined ? asked : "awaiting_approval";
  const quoted =
    thread && quotedMessage(state, request, thread, { replied: replied?.replied, recipients, ownAddresses });
  const content = mailContent(send, replied && { ...replied, quoted }, judging);
  refuseTooLarge(send, { at, from, fromName, recipients, content }, judging.mailLimit);
  refuseLabels(state, request, thread);
  const limits = limitsOf(judging.limits, request.account);
  const sizeBytes = sizeOfSend(send, content);
  const hasSubject = thread !== undefined || request.forward !== undefined;
  const subject = hasSubject ? content.subject : request.subject;
  const composedText = content.bodyText;
  const kept = { standing, need, from, composedText, recipients, subject, replying, replied: replied?.replied };
  if (becomes === "draft") {
    refuseOverQuotas(sender, sizeBytes, limits);
    return keep(state, send, { ...kept, becomes }, judging);
  }
  refuseRejected(state, send, { recipients, subject });
  refuseUnproven(sender, usernameAt(from, mailDomain));
  const suppressed = suppressedRecipients(addresses, state.suppressed.get(send.key.label) ?? []);
  refuseWithoutUnsubscribe(send);
  refuseOverQuotas(sender, sizeBytes, limits);
  if (becomes !== "sent") return keep(state, send, { ...kept, becomes }, judging);
  const reached = suppressed.size === 0 ? recipients : recipients.filter(({ address }) => !suppressed.has(address));
  const cold = coldAmong(state, request.inboxId, reached);
  refuseOverLimit(standing.usage, { count: reached.length, cold, areSeveral: recipients.length > 1 }, limits, at);
  if (thread !== undefined && request.ignoreLoop !== true) {
    const recent = state.recentMessages.get(thread.id) ?? [];
    for (const { address } of reached) refuseLoop({ to: address, recent, ownAddresses }, limits.loopEchoes, at);
  }

  // Accepting a scheduled mail has marked its thread, which may have been marked again since.
  const leavesUnread =
    request.step?.kind === "dispatch" ? thread?.isRead === false : replying?.hasNewerInbound === true;
  const recorded = recordMessage(sender, thread, send.newThreadId, {
    id: send.messageId,
    direction: "outbound",
    at,
    sizeBytes,
    subject: content.subject,
    preview: previewOf(send.text),
    hasAttachments: request.files !== undefined,
    people: peopleOf({ address: from, name: fromName }, recipients),
    leavesUnread,
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
  return { result: { kind: "accepted", message, usage, newerInbound: leavesUnread, destinations }, accepted };
}

/** Refuses labels that would be too many for the thread or the inbox. */
function refuseLabels({ labelsOf }: SendingState, { inboxId, labels }: SendRequest, thread?: ThreadState): void {
  if (labels === undefined) return;
  refuseLabelsOver(labelsAfter(thread?.labels ?? [], labels), "#/labels", "send");
  labelsOfInboxAfter(labelsOf.get(inboxId) ?? new Set(), labels, "send");
}

function replyingIn(state: SendingState, request: SendRequest, thread: ThreadState): Replying {
  // The message may have been removed since a scheduled mail was accepted.
  const isSettled = request.step?.kind === "dispatch" && request.ifUnanswered !== true;
  const seenSeq = isSettled ? undefined : seenUpTo(state, request, thread);
  return { thread, seenSeq, hasNewerInbound: seenSeq !== undefined && thread.lastInboundSeq > seenSeq };
}

/** The state of a mail after its request, if no person must approve it. */
function stateAfter({ step, sendAt }: SendRequest, at: Date): "draft" | "scheduled" | "sent" {
  if (step?.kind === "create") return "draft";
  if (step?.kind === "change") {
    const isTakenBack = step.draft.state === "scheduled" && sendAt === undefined;
    return step.draft.state === "draft" || isTakenBack ? "draft" : "scheduled";
  }
  if (sendAt === undefined || sendAt <= at) return "sent";
  // The clock was set back since the draft was found due.
  if (step?.kind === "dispatch") throw draftNotOpen("dispatch draft", step.draft);
  return "scheduled";
}

/**
 * Why a mail waits for a person; undefined if it does not. An approval counts at the dispatch of the version that was approved. A change of
 * a waiting mail never ends the wait, because only a decision does.
 */
function needAfter(
  { step }: SendRequest,
  addresses: readonly string[],
  need: ApprovalNeed | undefined,
): ApprovalNeed | undefined {
  const draft = draftOf(step);
  if (draft === undefined) return need;
  if (step?.kind === "dispatch" && isApproved(draft)) return undefined;
  const { approval } = draft;
  if (need !== undefined || draft.state !== "awaiting_approval" || approval === null) return need;
  return {
    reasons: approval.reasons,
    newRecipients: approval.newRecipients.filter((address) => addresses.includes(address)),
  };
}

/**
 * Refuses a mail that a person has rejected lately. A caller with access `full` that did not make the rejected one may send it, and a mail
 * that was accepted before is judged by its own approval.
 */
function refuseRejected(
  { rejections }: SendingState,
  { request }: Send,
  { recipients, subject }: Pick<Kept, "recipients" | "subject">,
): void {
  if (rejections.length === 0 || request.step?.kind === "dispatch") return;
  const { inboxId, account } = request;
  const bound = rejections.filter(
    (each) => each.inboxId === inboxId && (account.access !== "full" || each.requestedBy === account.keyId),
  );
  if (bound.length === 0) return;
  const content = draftContent(request, recipients, subject);
  const fingerprint = fingerprintOfMail(inboxId, content, request.files?.attachments);
  const rejection = bound.find((each) => each.fingerprint === fingerprint);
  if (rejection !== undefined) throw draftRejected(rejection);
}

/** Accepts a mail as a draft. Limits are judged when it is dispatched. */
function keep(
  state: SendingState,
  send: Send,
  kept: Kept & { standing: Standing },
  { at, openDraftsMax = defaultOpenDrafts, approvalHours = defaultApprovalHours }: Judging,
): JudgedSend {
  const { standing, becomes, replying } = kept;
  const before = draftOf(send.request.step);
  const { sender, usage } = standing;
  if (before === undefined) refuseOverOpenDrafts(state.openDrafts.get(sender.id) ?? 0, openDraftsMax);
  const isAccepted = isWaiting(becomes) && before?.acceptedAt == null;
  const wasMarked = before?.madeRead === true;
  const marked = replying && markedThread(replying, { isAccepted, wasMarked, becomes, at });
  const changed = marked?.thread === replying?.thread ? undefined : marked?.thread;
  const madeRead = isAccepted ? changed !== undefined : isWaiting(becomes) && replying !== undefined && wasMarked;
  const draft = keptDraft(send, kept, { sender, before, madeRead, at, approvalHours });
  const accepted = acceptedDraft(send, {
    draft,
    sender: changed === undefined ? sender : withThread(sender, replying?.thread, changed),
    thread: changed,
    event: requestedEvent(draft, kept.from, send.eventId),
    at,
  });
  noteAcceptedDraft(state, send, accepted);
  if (becomes === "draft") return { result: { kind: "kept", draft, usage }, accepted };
  const newerInbound = marked?.reason !== undefined;
  return { result: { kind: "waiting", message: unsentMessage(draft), draft, usage, newerInbound }, accepted };
}

/** Marks the thread of a reply as read when its sending is accepted, and as unread again if that is taken back. */
function markedThread(
  { thread, seenSeq }: Replying,
  {
    isAccepted,
    wasMarked,
    becomes,
    at,
  }: { isAccepted: boolean; wasMarked: boolean; becomes: Kept["becomes"]; at: Date },
): FiledThread {
  const isTakenBack = becomes === "draft" && wasMarked;
  if (!isAccepted && !isTakenBack) return { thread, reason: undefined };
  return fileThread(thread, { isRead: isAccepted }, { upToSeq: seenSeq, at });
}

/** The open drafts that an inbox may have, unless the operator has set another number. */
const defaultOpenDrafts = 1000;

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
export function refuseUnproven({ domain }: Sender, username = ""): void {
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

/**
 * Refuses a reply with `ifUnanswered` to a thread that has a later message of ours that did not fail, or a scheduled one. Refuses a scheduled
 * mail with `unlessReplied` if mail has come into its thread since it was accepted.
 */
function refuseAnswered(state: SendingState, { step, ...request }: SendRequest, { thread, seenSeq }: Replying): void {
  const draft = draftOf(step);
  if (step?.kind === "dispatch" && request.unlessReplied && thread.lastInboundSeq > (draft?.acceptedInboundSeq ?? 0))
    throw answeredMeanwhile("mail has come into the thread since this was scheduled", thread.lastMessageId);
  if (request.ifUnanswered !== true || seenSeq === undefined) return;
  const scheduled = state.waiting.get(thread.id)?.find((id) => id !== draft?.id);
  // The earlier of two scheduled answers is sent.
  if (scheduled !== undefined && step?.kind !== "dispatch")
    throw answeredMeanwhile(`this inbox has scheduled an answer in the thread, ${scheduled}`, scheduled);
  const answer = state.answers.get(thread.id);
  if (answer === undefined || answer.seq <= seenSeq) return;
  const why = `this inbox has answered in the thread after "readUpToMessageId", by ${answer.id}`;
  throw answeredMeanwhile(why, answer.id);
}

function answeredMeanwhile(why: string, messageId: string): Refusal {
  return new Refusal("answered_meanwhile", `Cannot send: ${why}`, { extra: { messageId } });
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
