import { idBeside } from "./ids.ts";

/**
 * The change of an inbox and a thread by one message. The decision is based on the inbox as it was read, and is written only if the inbox is
 * still the same.
 */

export interface InboxState {
  id: string;
  /** The number of messages, which is also the number of the last one. */
  messageCount: number;
  inboundCount: number;
  threadCount: number;
  unreadCount: number;
  lastMessageAt: Date | null;
  lastMessageId: string | null;
}

/** The facts about an inbox that a decision about a mail or a send needs. */
export interface InboxTotals extends InboxState {
  accountId: string;
  username: string;
  /** The last UTC day with a send, and the number of sends on that day. */
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
  /** False for an outbound message whose sender has seen all inbound mail of the thread: such a message marks the thread as read. */
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

/** Adds a message to an inbox. `thread` is the thread that it joins; undefined starts a new one with `newThreadId`. */
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
 * The instant of a message. Messages have the same order by number, by (instant, id) and by the ids of their events. A message that would
 * break this order, because another process was faster or a clock is slow, is dated one millisecond after the last one.
 */
function instantAfter(inbox: InboxState, { id, at }: MessageFacts): Date {
  const { lastMessageAt, lastMessageId } = inbox;
  if (lastMessageAt === null || lastMessageId === null || at > lastMessageAt) return at;
  const sameInstant = at.getTime() === lastMessageAt.getTime();
  const isBehind = sameInstant && id > lastMessageId && arrivalEventId(id, at) > arrivalEventId(lastMessageId, at);
  return isBehind ? at : new Date(lastMessageAt.getTime() + 1);
}

/**
 * The id of the event for a message's arrival. These ids have the order of the messages' numbers, because the log sorts the events of one
 * transaction by id, and so does the outbox with the deliveries of one instant.
 */
export function arrivalEventId(messageId: string, createdAt: Date): string {
  return idBeside(messageId, "evt", createdAt);
}

/** The result of setting the read flag. */
export interface Marked {
  thread: ThreadState;
  /** The reason why the thread stays unread; undefined if it does not. */
  reason: "newer_inbound" | undefined;
}

/**
 * Sets the read flag. With `upToSeq`, the last message that the caller has seen, a thread with newer inbound mail stays unread, so that a
 * caller who lists, processes and marks loses no mail (contract §7.2).
 */
export function markRead(thread: ThreadState, isRead: boolean, upToSeq: number | undefined): Marked {
  const unseen = isRead && !thread.isRead && upToSeq !== undefined && thread.lastInboundSeq > upToSeq;
  if (unseen || thread.isRead === isRead) return { thread, reason: unseen ? "newer_inbound" : undefined };
  return { thread: { ...thread, isRead }, reason: undefined };
}
