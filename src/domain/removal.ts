import { type InboxState, type Person, type ThreadState, withThread } from "./conversation.ts";
import { rowsOfPage } from "./page-budget.ts";

/**
 * The functions that decide which messages of an inbox are removed, and what is left of its threads and totals. They use the inbox as it was
 * read under its lock.
 */

/** A message to remove, if it is free. */
export interface OldMessage {
  id: string;
  threadId: string;
  seq: number;
  direction: "inbound" | "outbound";
  directionSeq: number;
  status: "received" | "pending" | "sent" | "failed";
  createdAt: Date;
  sizeBytes: number;
  attachmentCount: number;
}

/** The totals of an inbox that a removal changes. */
export interface EmptiedInbox extends InboxState {
  accountId: string;
  removedCount: number;
  removedInboundCount: number;
  lastRemovedSeq: number;
  lastRemovedInboundSeq: number;
  /** The days after which mail is removed: the fewest of those of the inbox and of the account; null if neither has any. */
  retentionDays: number | null;
  /** The number of the last message that is counted for the usage. Later ones are removed when they are counted. */
  countedSeq: number;
  deletedAt: Date | null;
}

const dayMs = 86_400_000;

/** The instant before which mail is removed: the fewest days count. Undefined if mail is kept forever. `0` days of the service are no limit. */
export function retainedSince(ownDays: number | null, daysOfService: number, now: Date): Date | undefined {
  const days = [ownDays, daysOfService].filter((each) => each !== null && each > 0) as number[];
  return days.length === 0 ? undefined : new Date(now.getTime() - Math.min(...days) * dayMs);
}

/** The most bytes of mail that one step removes. A message may have megabytes. */
const stepBytes = 16 << 20;

export interface Removable {
  messages: OldMessage[];
  /** The number after which the next step goes on; undefined if no message after these is old enough. */
  next: number | undefined;
}

/**
 * Chooses the messages from before an instant among the first ones of an inbox, as many as one step may remove. A message stays while it
 * waits to be sent. `limit` is the number of messages that were asked for: less than that are all that the inbox has.
 */
export function removableOf(messages: readonly OldMessage[], before: Date, limit: number): Removable {
  const old = messages.filter(({ createdAt }) => createdAt < before);
  const sizes = old.map(({ sizeBytes, status }) => (status === "pending" ? 0 : sizeBytes));
  const taken = old.slice(0, rowsOfPage(sizes, stepBytes));
  const isLast = taken.length === messages.length ? messages.length < limit : taken.length === old.length;
  return {
    messages: taken.filter(({ status }) => status !== "pending"),
    next: isLast ? undefined : taken.at(-1)?.seq,
  };
}

/** The number of inbound messages that came up to a message. */
function inboundUpTo({ direction, seq, directionSeq }: OldMessage): number {
  return direction === "inbound" ? directionSeq : seq - directionSeq;
}

/** The totals of an inbox without these messages and threads. `last` is its last message after the removal. */
export function inboxWithout(
  inbox: EmptiedInbox,
  gone: readonly OldMessage[],
  goneThreads: readonly ThreadState[],
  last: { id: string; createdAt: Date } | undefined,
): EmptiedInbox {
  const newest = gone.reduce<OldMessage | undefined>(
    (top, each) => (top && top.seq > each.seq ? top : each),
    undefined,
  );
  const isHigher = newest !== undefined && newest.seq > inbox.lastRemovedSeq;
  return {
    ...goneThreads.reduce((totals, thread) => withThread(totals, thread, undefined), inbox),
    removedCount: inbox.removedCount + gone.length,
    removedInboundCount: inbox.removedInboundCount + gone.filter(({ direction }) => direction === "inbound").length,
    lastRemovedSeq: isHigher ? newest.seq : inbox.lastRemovedSeq,
    lastRemovedInboundSeq: isHigher ? inboundUpTo(newest) : inbox.lastRemovedInboundSeq,
    storageBytes: inbox.storageBytes - gone.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    lastMessageAt: last?.createdAt ?? null,
    lastMessageId: last?.id ?? null,
  };
}

/** The rest of a thread after a removal. */
export interface ThreadRemains {
  threadId: string;
  lastSeq: number;
  lastMessageId: string;
  lastMessageAt: Date;
  preview: string;
  lastInboundSeq: number;
  hasAttachments: boolean;
  subject: string;
  createdAt: Date;
  /** The people of its messages in order; undefined if it has too many messages to read all. */
  people: readonly Person[] | undefined;
}

/** The rest of a thread after a removal. A thread with so many messages that not all are read keeps its people. */
export function threadWithout(thread: ThreadState, goneCount: number, remains: ThreadRemains): ThreadState {
  const { threadId, people, ...last } = remains;
  return {
    ...thread,
    ...last,
    messageCount: thread.messageCount - goneCount,
    people: people === undefined ? thread.people : [...people],
  };
}
