import { idBeside } from "./ids.ts";

/**
 * How one message changes what an inbox and a thread know of themselves. What is decided from a read of the inbox is
 * written only while the inbox is as it was read.
 */

export interface InboxState {
  id: string;
  /** Also the number of the last message. */
  messageCount: number;
  inboundCount: number;
  threadCount: number;
  unreadCount: number;
  lastMessageAt: Date | null;
  lastMessageId: string | null;
}

/** What a mail or a send needs to know of an inbox. */
export interface InboxTotals extends InboxState {
  accountId: string;
  username: string;
  /** The last UTC day on which something was sent, and how much on it. */
  sentOn: string | null;
  sentCount: number;
}

export interface ThreadState {
  id: string;
  inboxId: string;
  subject: string;
  isRead: boolean;
  messageCount: number;
  createdAt: Date;
  lastMessageAt: Date;
  lastMessageId: string;
  lastSeq: number;
  lastInboundSeq: number;
  participants: string[];
  preview: string;
  hasAttachments: boolean;
}

export interface MessageFacts {
  id: string;
  direction: "inbound" | "outbound";
  at: Date;
  subject: string;
  preview: string;
  hasAttachments: boolean;
  participants: readonly string[];
  /** An outbound message that saw all inbound mail of its thread marks it read; inbound mail never does. */
  leavesUnread: boolean;
}

export interface Recorded<Inbox extends InboxState> {
  inbox: Inbox;
  thread: ThreadState;
  seq: number;
  /** Its number among the messages of its direction. */
  directionSeq: number;
  createdAt: Date;
}

const mostParticipants = 20;

/** `thread` is the one that the message joins; undefined starts one under `newThreadId`. */
export function recordMessage<Inbox extends InboxState>(
  inbox: Inbox,
  thread: ThreadState | undefined,
  newThreadId: string,
  message: MessageFacts,
): Recorded<Inbox> {
  const inbound = message.direction === "inbound";
  const seq = inbox.messageCount + 1;
  const inboundCount = inbox.inboundCount + (inbound ? 1 : 0);
  const createdAt = instantAfter(inbox, message);
  const isRead = !message.leavesUnread;
  const next: ThreadState = {
    id: thread?.id ?? newThreadId,
    inboxId: inbox.id,
    subject: thread?.subject ?? message.subject,
    isRead,
    messageCount: (thread?.messageCount ?? 0) + 1,
    createdAt: thread?.createdAt ?? createdAt,
    lastMessageAt: createdAt,
    lastMessageId: message.id,
    lastSeq: seq,
    lastInboundSeq: inbound ? seq : (thread?.lastInboundSeq ?? 0),
    participants: [...new Set([...(thread?.participants ?? []), ...message.participants])].slice(0, mostParticipants),
    preview: message.preview,
    hasAttachments: (thread?.hasAttachments ?? false) || message.hasAttachments,
  };
  return {
    seq,
    directionSeq: inbound ? inboundCount : seq - inboundCount,
    createdAt,
    thread: next,
    inbox: {
      ...inbox,
      messageCount: seq,
      inboundCount,
      threadCount: inbox.threadCount + (thread === undefined ? 1 : 0),
      unreadCount: inbox.unreadCount + (isRead ? 0 : 1) - (thread !== undefined && !thread.isRead ? 1 : 0),
      lastMessageAt: createdAt,
      lastMessageId: message.id,
    },
  };
}

/**
 * The order of numbers is also that of (instant, id) and that of the events' ids. A message that would stand before the last
 * one by its own instant (another process was quicker, or a clock is late) is dated one millisecond after it.
 */
function instantAfter(inbox: InboxState, { id, at }: MessageFacts): Date {
  const { lastMessageAt, lastMessageId } = inbox;
  if (lastMessageAt === null || lastMessageId === null || at > lastMessageAt) return at;
  const sameInstant = at.getTime() === lastMessageAt.getTime();
  const isBehind = sameInstant && id > lastMessageId && arrivalEventId(id, at) > arrivalEventId(lastMessageId, at);
  return isBehind ? at : new Date(lastMessageAt.getTime() + 1);
}

/**
 * The id of the event that tells of a message's arrival. It is made when the message is numbered, from what makes the order of
 * numbers: events of one position in the log, and deliveries of one instant, are told in the order of their ids.
 */
export function arrivalEventId(messageId: string, createdAt: Date): string {
  return idBeside(messageId, "evt", createdAt);
}
