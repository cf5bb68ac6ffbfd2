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
 * The order of numbers, of (instant, id) and of arrival are one order: a message whose own instant would put it before
 * the last one (another process was quicker, or a clock is late) is dated just after it.
 */
function instantAfter(inbox: InboxState, message: MessageFacts): Date {
  const { lastMessageAt, lastMessageId } = inbox;
  if (lastMessageAt === null || lastMessageId === null || message.at > lastMessageAt) return message.at;
  const sameInstant = message.at.getTime() === lastMessageAt.getTime();
  return sameInstant && message.id > lastMessageId ? message.at : new Date(lastMessageAt.getTime() + 1);
}
