import type { AutoSubmitted } from "../automated.ts";
import type { Recorded, ThreadState } from "../conversation.ts";
import type { NewEvent } from "../events/event-types.ts";
import type { KeyUse } from "../idempotency.ts";
import type { SendUsage } from "../limits.ts";
import type { CustomHeader } from "../message.ts";
import type { NewItem } from "../outbox-item.ts";
import { type BlockChange, blockChanges } from "../thread-blocks.ts";
import { isApproved } from "./approval.ts";
import { filedFiles } from "./attachments.ts";
import { type Draft, draftOf } from "./draft.ts";
import type { FiledFiles } from "./files-of-send.ts";
import { destinationsOf, subjectOfDestination, type WaysOut } from "./recipients/destinations.ts";
import type { Recipient } from "./recipients/entries.ts";
import type { NewRecipient } from "./recipients/recipient-outcome.ts";
import type { Content } from "./reply-content.ts";
import { furtherHeaders, type Send } from "./send.ts";
import type { Sender } from "./send-facts.ts";
import { type SuppressedAddress, suppressedFailure } from "./suppressed.ts";

/** The row of a message that waits to be sent. Columns that are the same for all such messages are left out. */
export interface OutboundMessage {
  id: string;
  inboxId: string;
  threadId: string;
  seq: number;
  directionSeq: number;
  createdAt: Date;
  rfcMessageId: string;
  messageIdHash: string;
  fromAddr: string;
  fromName: string | undefined;
  /** The first of `toAddrs`. */
  toAddr: string;
  toAddrs: readonly string[];
  cc: readonly string[];
  replyTo: string | undefined;
  subject: string;
  bodyText: string;
  bodyHtml: string | undefined;
  attachmentCount: number;
  /** The bytes of the bodies and the attachments. */
  sizeBytes: number;
  inReplyTo: string | undefined;
  referenceIds: readonly string[];
  autoSubmitted: AutoSubmitted | undefined;
  headers: readonly CustomHeader[] | undefined;
  metadata: Readonly<Record<string, string>> | undefined;
  forwardOf: string | undefined;
  sentBy: string;
}

export interface SendKeyUse extends KeyUse {
  inboxId: string;
}

/** A cold send: one to a recipient that the inbox does not know. */
export interface ColdSend {
  inboxId: string;
  recipient: string;
  sentOn: string;
  /** The number of mails to this recipient on this day, with this one. */
  sentToday: number;
}

interface Accepted {
  /** The state of the inbox after the send. */
  sender: Sender;
  thread: ThreadState | undefined;
  /** Undefined if the step uses no key yet: the dispatch of a mail that must wait for a person first. */
  keyUse: SendKeyUse | undefined;
  /** Undefined if no attachments are to be written. */
  files: FiledFiles | undefined;
}

/** The rows to write for one accepted send. */
export interface AcceptedSend extends Accepted {
  thread: ThreadState;
  message: OutboundMessage;
  recipients: readonly NewRecipient[];
  /** The draft that the message was until now. */
  dispatched: DispatchedDraft | undefined;
  /** The recipients to whom a person has approved this mail. */
  approvedRecipients: readonly ApprovedRecipient[];
  /** One item for each destination (`destinationsOf`). */
  outboxItems: readonly NewItem[];
  coldSends: readonly ColdSend[];
}

/** The rows to write for one accepted draft. Its thread is undefined unless the read flag may have changed. */
export interface AcceptedDraft extends Accepted {
  draft: Draft;
  /** Whether it had other attachments before. */
  replacesFiles: boolean;
  /** The event that asks a person for the approval. */
  event: NewEvent | undefined;
}

/** A recipient of an approved mail, who is known to the inbox from then on. The address is in lower case. */
export interface ApprovedRecipient {
  inboxId: string;
  address: string;
}

export interface DispatchedDraft {
  id: string;
  inboxId: string;
  updatedAt: Date;
}

export interface ColdSends extends Omit<ColdSend, "sentToday"> {
  count: number;
}

/** The rows to write for all accepted sends of a batch. */
export interface AcceptedSends {
  senders: readonly Sender[];
  threads: readonly ThreadState[];
  threadBlocks: readonly BlockChange[];
  messages: readonly OutboundMessage[];
  recipients: readonly NewRecipient[];
  keyUses: readonly SendKeyUse[];
  outboxItems: readonly NewItem[];
  coldSends: readonly ColdSends[];
  files: readonly FiledFiles[];
  drafts: readonly Draft[];
  dispatched: readonly DispatchedDraft[];
  approvedRecipients: readonly ApprovedRecipient[];
  /** The ids of the drafts whose attachments are replaced. */
  refiled: readonly string[];
  events: readonly NewEvent[];
}

/** The decisions about a send, before its rows are made. */
export interface Decided {
  send: Send;
  from: string;
  /** Null or undefined for none. */
  fromName: string | null | undefined;
  recipients: readonly Recipient[];
  /** The suppressed recipients, by address. */
  suppressed: ReadonlyMap<string, SuppressedAddress>;
  /** The recipients that the inbox does not know, if cold recipients are limited. */
  cold: readonly { address: string; sentToday: number }[];
  content: Content;
  sizeBytes: number;
  recorded: Recorded<Sender>;
  /** The usage of the inbox, with this send. */
  usage: SendUsage;
  at: Date;
}

export function acceptedSend(decided: Decided, ways: WaysOut): AcceptedSend {
  const { send, recipients, suppressed, cold, recorded, usage, at } = decided;
  const { inbox, thread, createdAt } = recorded;
  const { messageId } = send;
  const draft = draftOf(send.request.step);
  const reached = recipients.filter(({ address }) => !suppressed.has(address));
  const { lanes, numberOf } = destinationsOf(reached, ways);
  return {
    sender: {
      ...inbox,
      sentOn: usage.day,
      sentCount: usage.today,
      inWindow: usage.inWindow,
      oldestInWindowAt: usage.oldestInWindowAt ?? createdAt,
    },
    thread,
    message: outboundMessage(decided),
    recipients: recipients.map((recipient, position) => {
      const suppression = suppressed.get(recipient.address);
      return {
        messageId,
        inboxId: inbox.id,
        position,
        address: recipient.address,
        name: recipient.name,
        type: recipient.type,
        destination: suppression === undefined ? numberOf(recipient) : 0,
        status: suppression === undefined ? "pending" : "failed",
        failure: suppression === undefined ? null : suppressedFailure(suppression.reason),
      };
    }),
    keyUse: keyUseOf(send, at),
    outboxItems: lanes.map((lane, number) => ({
      subjectId: subjectOfDestination(messageId, number),
      accountId: inbox.accountId,
      inboxId: inbox.id,
      lane,
      dueAt: at,
      createdAt,
    })),
    coldSends: cold.map(({ address, sentToday }) => ({
      inboxId: inbox.id,
      recipient: address.toLowerCase(),
      sentOn: usage.day,
      sentToday: sentToday + 1,
    })),
    files: filedFiles(send),
    dispatched: draft && { id: draft.id, inboxId: draft.inboxId, updatedAt: at },
    approvedRecipients:
      draft !== undefined && isApproved(draft)
        ? reached.map(({ address }) => ({ inboxId: inbox.id, address: address.toLowerCase() }))
        : [],
  };
}

/** The rows of an accepted draft. */
export function acceptedDraft(
  send: Send,
  { draft, sender, thread, event, at }: Pick<AcceptedDraft, "draft" | "sender" | "thread" | "event"> & { at: Date },
): AcceptedDraft {
  const { step } = send.request;
  const replacesFiles = step?.kind === "change" && step.replacesFiles;
  const keyUse = step?.kind === "dispatch" ? undefined : keyUseOf(send, at);
  return { draft, sender, thread, event, keyUse, files: filedFiles(send), replacesFiles };
}

function keyUseOf({ key: { accountId, operation, key }, fingerprint, messageId, request }: Send, at: Date): SendKeyUse {
  return { accountId, operation, key, fingerprint, subjectId: messageId, createdAt: at, inboxId: request.inboxId };
}

/** The bytes of the bodies and the attachments of a mail. */
export function sizeOfSend({ request }: Send, { bodyText, bodyHtml = "" }: Content): number {
  const files = request.files?.attachments.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) ?? 0;
  return Buffer.byteLength(bodyText) + Buffer.byteLength(bodyHtml) + files;
}

function outboundMessage({ send, from, fromName, recipients, content, sizeBytes, recorded }: Decided): OutboundMessage {
  const { request } = send;
  const addressesOf = (type: Recipient["type"]) =>
    recipients.flatMap((each) => (each.type === type ? [each.address] : []));
  const toAddrs = addressesOf("to");
  const headers = furtherHeaders(send);
  return {
    id: send.messageId,
    inboxId: recorded.inbox.id,
    threadId: recorded.thread.id,
    seq: recorded.seq,
    directionSeq: recorded.directionSeq,
    createdAt: recorded.createdAt,
    rfcMessageId: send.rfcMessageId,
    messageIdHash: send.messageIdHash,
    fromAddr: from,
    fromName: fromName ?? undefined,
    toAddr: recipients[0]?.address ?? "",
    toAddrs,
    cc: addressesOf("cc"),
    replyTo: request.replyTo,
    subject: content.subject,
    bodyText: content.bodyText,
    bodyHtml: content.bodyHtml,
    attachmentCount: request.files?.attachments.length ?? 0,
    sizeBytes,
    inReplyTo: content.inReplyTo,
    referenceIds: content.references,
    autoSubmitted: request.autoSubmitted,
    headers: headers.length === 0 ? undefined : headers,
    metadata: request.metadata,
    forwardOf: request.forwardOf,
    sentBy: request.account.keyId,
  };
}

/**
 * Joins the rows of the accepted sends of a batch. A thread or an inbox has one row, with its state after the last send. `before` has the
 * threads as they were read.
 */
export function joinedRows(
  accepted: readonly (AcceptedSend | AcceptedDraft)[],
  before: ReadonlyMap<string, ThreadState>,
): AcceptedSends {
  const sends = accepted.filter((each) => "message" in each);
  const drafts = accepted.flatMap((each) => ("draft" in each ? each.draft : []));
  const threads = [...new Map(accepted.flatMap(({ thread }) => (thread ? [[thread.id, thread]] : []))).values()];
  return {
    senders: [...new Map(accepted.map(({ sender }) => [sender.id, sender])).values()],
    threads,
    threadBlocks: blockChanges(threads.map((after) => ({ before: before.get(after.id), after }))),
    messages: sends.map(({ message }) => message),
    recipients: sends.flatMap(({ recipients }) => recipients),
    keyUses: accepted.flatMap(({ keyUse }) => keyUse ?? []),
    outboxItems: sends.flatMap(({ outboxItems }) => outboxItems),
    coldSends: countedColdSends(sends),
    files: accepted.flatMap(({ files }) => files ?? []),
    drafts: [...new Map(drafts.map((draft) => [draft.id, draft])).values()],
    dispatched: sends.flatMap(({ dispatched }) => dispatched ?? []),
    approvedRecipients: approvedOnce(sends),
    refiled: accepted.flatMap((each) => ("draft" in each && each.replacesFiles ? each.draft.id : [])),
    events: accepted.flatMap((each) => ("draft" in each ? (each.event ?? []) : [])),
  };
}

/** The recipients of approved mails, each once for its inbox. */
function approvedOnce(sends: readonly AcceptedSend[]): ApprovedRecipient[] {
  const approved = sends.flatMap(({ approvedRecipients }) => approvedRecipients);
  return [...new Map(approved.map((each) => [`${each.inboxId} ${each.address}`, each])).values()];
}

/** Counts the sends of this batch to each cold recipient. The store adds these numbers to its own counts. */
function countedColdSends(accepted: readonly AcceptedSend[]): ColdSends[] {
  const counts = new Map<string, ColdSends>();
  for (const { inboxId, recipient, sentOn } of accepted.flatMap(({ coldSends }) => coldSends)) {
    const name = `${inboxId} ${recipient}`;
    counts.set(name, { inboxId, recipient, sentOn, count: (counts.get(name)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}
