import type { Recorded } from "../conversation.ts";
import type { SendUsage } from "../limits.ts";
import type { NewItem } from "../outbox-item.ts";
import type { AcceptedSend, MoreOfMessage, OutboundMessage } from "./accepted-sends.ts";
import { filedFiles } from "./attachments.ts";
import { destinationsOf, domainOf, subjectOfDestination, type WaysOut } from "./recipients/destinations.ts";
import type { Recipient } from "./recipients/entries.ts";
import type { NewRecipient } from "./recipients/recipient-outcome.ts";
import type { Content } from "./reply-content.ts";
import type { Send } from "./send.ts";
import type { Sender } from "./send-facts.ts";
import { type SuppressedAddress, suppressedFailure } from "./suppressed.ts";

export interface Written {
  from: string;
  recipients: readonly Recipient[];
  content: Content;
}

/** The row of an accepted send. */
export function outboundMessage(
  { request, messageId, rfcMessageId, messageIdHash }: Send,
  { from, recipients, content }: Written,
  { inbox, thread, seq, directionSeq, createdAt }: Recorded<Sender>,
): OutboundMessage {
  const more = moreOf(request, recipients);
  return {
    id: messageId,
    inboxId: inbox.id,
    threadId: thread.id,
    seq,
    directionSeq,
    createdAt,
    rfcMessageId,
    messageIdHash,
    fromAddr: from,
    toAddr: firstAddress(recipients),
    replyTo: request.replyTo,
    subject: content.subject,
    bodyText: content.bodyText,
    bodyHtml: content.bodyHtml,
    inReplyTo: content.inReplyTo,
    referenceIds: content.references,
    autoSubmitted: request.autoSubmitted,
    ...(more && { more }),
  };
}

/** The first whom the mail itself names. */
function firstAddress(recipients: readonly Recipient[]): string {
  return recipients[0]?.address ?? "";
}

function moreOf(request: Send["request"], recipients: readonly Recipient[]): MoreOfMessage | undefined {
  const { fromName, metadata, headers, forwardOf } = request;
  const attachmentCount = request.files?.attachments.length ?? 0;
  const hasRows = hasRecipientRows(recipients);
  const hasMore =
    hasRows ||
    typeof fromName === "string" ||
    metadata !== undefined ||
    headers !== undefined ||
    attachmentCount > 0 ||
    forwardOf !== undefined;
  if (!hasMore) return undefined;
  const of = (type: Recipient["type"]) => recipients.flatMap((each) => (each.type === type ? [each.address] : []));
  return {
    fromName: fromName ?? undefined,
    // Also says that there are rows of recipients, where it is of one with a name.
    toAddrs: hasRows ? of("to") : undefined,
    cc: of("cc"),
    recipientCount: recipients.length,
    metadata,
    headers,
    attachmentCount,
    forwardOf,
  };
}

/** One without a name stands in the message's own row. */
function hasRecipientRows(recipients: readonly Recipient[]): boolean {
  return recipients.length !== 1 || recipients[0]?.name !== undefined;
}

export interface Accepted {
  send: Send;
  message: OutboundMessage;
  recipients: readonly Recipient[];
  /** Those who are suppressed, by their addresses. */
  out: ReadonlyMap<string, SuppressedAddress>;
  cold: readonly { address: string; sentToday: number }[];
  at: Date;
}

/** All rows of an accepted send. */
export function rowsOfMessage(
  { send, message, recipients, out, cold, at }: Accepted,
  { inbox, thread, createdAt }: Recorded<Sender>,
  { day, today, inWindow, oldestInWindowAt, ways }: SendUsage & { ways: WaysOut },
): AcceptedSend {
  const { accountId, operation, key } = send.key;
  const { messageId: subjectId, fingerprint } = send;
  const item = { accountId: inbox.accountId, inboxId: inbox.id, dueAt: at, createdAt };
  // An older process would send such a mail to its first recipient alone, and without what it doesn't know of.
  const isApart =
    hasRecipientRows(recipients) || message.more?.headers !== undefined || send.request.files !== undefined;
  const promised = isApart
    ? rowsApart({ message, recipients, out }, item, ways)
    : { outboxItems: [{ subjectId, ...item, lane: domainOf(message.toAddr) }], recipients: [] };
  return {
    sender: { ...inbox, sentOn: day, sentCount: today, inWindow, oldestInWindowAt: oldestInWindowAt ?? createdAt },
    thread,
    message,
    keyUse: { accountId, operation, key, fingerprint, subjectId, createdAt: at, inboxId: inbox.id },
    ...promised,
    files: filedFiles(send),
    coldSends: cold.map(({ address, sentToday }) => ({
      ...{ inboxId: inbox.id, recipient: address.toLowerCase(), sentOn: day, sentToday: sentToday + 1 },
    })),
  };
}

/** A row of the outbox for each destination, and rows of recipients where the message's own does not name them all. */
function rowsApart(
  { message, recipients, out }: Pick<Accepted, "message" | "recipients" | "out">,
  item: Omit<NewItem, "subjectId" | "kind" | "lane">,
  ways: WaysOut,
): Pick<AcceptedSend, "outboxItems" | "recipients"> {
  const reached = recipients.filter(({ address }) => !out.has(address));
  const { lanes, placeOf } = destinationsOf(reached, ways);
  return {
    outboxItems: lanes.map((lane, place) => ({
      ...{ subjectId: subjectOfDestination(message.id, place), kind: "destination" as const },
      ...{ ...item, lane },
    })),
    recipients: hasRecipientRows(recipients) ? recipientRows(message, recipients, { out, placeOf }) : [],
  };
}

function recipientRows(
  { id, inboxId }: OutboundMessage,
  recipients: readonly Recipient[],
  { out, placeOf }: { out: Accepted["out"]; placeOf: (recipient: Recipient) => number },
): NewRecipient[] {
  return recipients.map((recipient, position) => {
    const one = { messageId: id, inboxId, position, ...recipient };
    const suppression = out.get(recipient.address);
    if (suppression === undefined) return { ...one, destination: placeOf(recipient), status: "pending", failure: null };
    return { ...one, destination: 0, status: "failed", failure: suppressedFailure(suppression.reason) };
  });
}
