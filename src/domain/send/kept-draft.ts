import type { ThreadState } from "../conversation.ts";
import type { NewEvent } from "../events/event-types.ts";
import { type ApprovalNeed, approvalAsked, fingerprintOfMail } from "./approval.ts";
import {
  type Draft,
  type DraftContent,
  factsOfEvent,
  isWaiting,
  recipientsOfDraft,
  statusOfDraft,
  type WaitingState,
} from "./draft.ts";
import type { Recipient } from "./recipients/entries.ts";
import type { Replied } from "./reply-content.ts";
import type { Send, SendRequest, SentMessage } from "./send.ts";
import type { Sender } from "./send-facts.ts";

/** The thread of a reply, with what its caller has seen of it. */
export interface Replying {
  thread: ThreadState;
  /** The number of the last message that the caller has seen; undefined if the request names none. */
  seenSeq: number | undefined;
  /** Whether mail has come since. Such a thread stays unread. */
  hasNewerInbound: boolean;
}

/** The decisions about a mail that is kept as a draft. */
export interface Kept {
  becomes: "draft" | WaitingState;
  /** Why it waits for a person; undefined unless it does. */
  need: ApprovalNeed | undefined;
  from: string;
  /** The text that would be sent. */
  composedText: string;
  recipients: readonly Recipient[];
  /** Its subject, which may come from the answered or the forwarded message. */
  subject: string | undefined;
  replying: Replying | undefined;
  replied: Replied | undefined;
}

/** The row of a draft, as it is after the step of the request. */
export function keptDraft(
  send: Send,
  { becomes, need, from, composedText, recipients, subject, replying, replied }: Kept,
  {
    sender,
    before,
    madeRead,
    at,
    approvalHours,
  }: { sender: Sender; before: Draft | undefined; madeRead: boolean; at: Date; approvalHours: number },
): Draft {
  const { request } = send;
  const isAccepted = isWaiting(becomes);
  const asked = request.sendAt ?? null;
  // A scheduled draft whose time is changed to one that has passed is sent at once.
  const sendAt = becomes === "scheduled" && asked !== null && asked < at ? at : asked;
  const inboundSeq = replying?.thread.lastInboundSeq ?? null;
  const isChange = request.step?.kind === "change";
  const content = draftContent(request, recipients, subject);
  const changedBy = isChange ? request.account.keyId : undefined;
  const approval = need && approvalAsked(need, before, { at, hours: approvalHours, changedBy });
  return {
    id: send.messageId,
    accountId: sender.accountId,
    inboxId: sender.id,
    threadId: replying?.thread.id ?? send.newThreadId,
    answeredId: replied?.id ?? null,
    rfcMessageId: send.rfcMessageId,
    state: becomes,
    version: (before?.version ?? 0) + (before === undefined || isChange ? 1 : 0),
    content: approval === undefined ? content : { ...content, composedText, composedFrom: from },
    sendAt,
    dueAt: becomes === "scheduled" ? sendAt : approval === undefined ? null : new Date(approval.expiresAt),
    acceptedAt: isAccepted ? (before?.acceptedAt ?? at) : null,
    acceptedInboundSeq: isAccepted ? (before?.acceptedInboundSeq ?? inboundSeq) : null,
    madeRead,
    requestedBy: before?.requestedBy ?? request.account.keyId,
    approval: approval ?? before?.approval ?? null,
    fingerprint: approval === undefined ? null : fingerprintOfMail(sender.id, content, request.files?.attachments),
    failure: null,
    createdAt: before?.createdAt ?? at,
    updatedAt: at,
  };
}

const contentFields = [
  "recipients",
  "subject",
  "body",
  "bodyHtml",
  "bodyFormat",
  "threadId",
  "includeQuote",
  "replyTo",
  "readUpToMessageId",
  "replyToMessageId",
  "replyAll",
  "ifUnanswered",
  "unlessReplied",
  "autoSubmitted",
  "ignoreLoop",
  "fromName",
  "fromAddr",
  "headers",
  "metadata",
  "labels",
  "forwardOf",
  "forwardAs",
  "includeAttachments",
  "unsubscribe",
] as const satisfies readonly (keyof DraftContent)[];

/** The content to store for a mail. It has the recipients that a reply gets, so it answers them and no later ones. */
export function draftContent(
  request: SendRequest,
  recipients: readonly Recipient[],
  subject: string | undefined,
): DraftContent {
  const asked = { ...request, recipients, subject, replyAll: undefined };
  const content = Object.fromEntries(contentFields.map((field) => [field, asked[field]])) as unknown as DraftContent;
  const pictures = [...(request.forward?.contentIds ?? [])];
  return pictures.length === 0 ? content : { ...content, forwardedContentIds: pictures };
}

/** The event that asks a person to approve a draft. Undefined if it does not wait for that. */
export function requestedEvent(draft: Draft, from: string, id: string): NewEvent<"approval.requested"> | undefined {
  const { approval, content, state, version, sendAt, updatedAt } = draft;
  if (state !== "awaiting_approval" || approval === null) return undefined;
  const { reasons, newRecipients, requestedAt, expiresAt } = approval;
  const of = (type: Recipient["type"]) =>
    (content?.recipients ?? []).flatMap((each) => (each.type === type ? [each.address] : []));
  return {
    ...factsOfEvent(draft, id, updatedAt),
    type: "approval.requested",
    data: {
      id: draft.id,
      version,
      reasons,
      newRecipients,
      from,
      to: of("to"),
      cc: of("cc"),
      bcc: of("bcc"),
      subject: content?.subject ?? "",
      metadata: content?.metadata ?? {},
      sendAt: sendAt?.toISOString() ?? null,
      requestedAt,
      expiresAt,
    },
  };
}

/** The answer about a mail whose sending was accepted, and that is not sent yet or was not sent at all. */
export function unsentMessage(draft: Draft): SentMessage {
  const { id, inboxId, threadId, rfcMessageId, state, sendAt, approval } = draft;
  return {
    id,
    inboxId,
    threadId,
    status: statusOfDraft(draft),
    rfcMessageId,
    providerMessageId: null,
    recipients: recipientsOfDraft(draft),
    ...(isWaiting(state) && { state, sendAt: sendAt ?? undefined }),
    ...(state === "awaiting_approval" && approval !== null && { approval }),
  };
}
