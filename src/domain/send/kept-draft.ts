import type { ThreadState } from "../conversation.ts";
import { type Draft, type DraftContent, recipientsOfDraft, statusOfDraft } from "./draft.ts";
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
  becomes: "draft" | "scheduled";
  recipients: readonly Recipient[];
  /** Its subject, which may come from the answered or the forwarded message. */
  subject: string | undefined;
  replying: Replying | undefined;
  replied: Replied | undefined;
}

/** The row of a draft, as it is after the step of the request. */
export function keptDraft(
  send: Send,
  { becomes, recipients, subject, replying, replied }: Kept,
  { sender, before, madeRead, at }: { sender: Sender; before: Draft | undefined; madeRead: boolean; at: Date },
): Draft {
  const { request } = send;
  const isScheduled = becomes === "scheduled";
  const asked = request.sendAt ?? null;
  // A scheduled draft whose time is changed to one that has passed is sent at once.
  const sendAt = isScheduled && asked !== null && asked < at ? at : asked;
  const inboundSeq = replying?.thread.lastInboundSeq ?? null;
  return {
    id: send.messageId,
    accountId: sender.accountId,
    inboxId: sender.id,
    threadId: replying?.thread.id ?? send.newThreadId,
    answeredId: replied?.id ?? null,
    rfcMessageId: send.rfcMessageId,
    state: becomes,
    version: (before?.version ?? 0) + (request.step?.kind === "send" ? 0 : 1),
    content: draftContent(request, recipients, subject),
    sendAt,
    dueAt: isScheduled ? sendAt : null,
    acceptedAt: isScheduled ? (before?.acceptedAt ?? at) : null,
    acceptedInboundSeq: isScheduled ? (before?.acceptedInboundSeq ?? inboundSeq) : null,
    madeRead,
    requestedBy: before?.requestedBy ?? request.account.keyId,
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
function draftContent(
  request: SendRequest,
  recipients: readonly Recipient[],
  subject: string | undefined,
): DraftContent {
  const asked = { ...request, recipients, subject, replyAll: undefined };
  const content = Object.fromEntries(contentFields.map((field) => [field, asked[field]])) as unknown as DraftContent;
  const pictures = [...(request.forward?.contentIds ?? [])];
  return pictures.length === 0 ? content : { ...content, forwardedContentIds: pictures };
}

/** The answer about a mail whose sending was accepted, and that is not sent yet or was not sent at all. */
export function unsentMessage(draft: Draft): SentMessage {
  const { id, inboxId, threadId, rfcMessageId, state, sendAt } = draft;
  return {
    id,
    inboxId,
    threadId,
    status: statusOfDraft(draft),
    rfcMessageId,
    providerMessageId: null,
    recipients: recipientsOfDraft(draft),
    ...(state === "scheduled" && { state, sendAt: sendAt ?? undefined }),
  };
}
