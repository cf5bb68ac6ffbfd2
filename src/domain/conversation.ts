import { truncateCodePoints } from "../standards/text.ts";
import type { Folder } from "./folders.ts";
import { idBeside } from "./ids.ts";
import { labelsAfter } from "./labels.ts";
import type { Metadata } from "./metadata.ts";

/**
 * The functions that compute the new state of an inbox and a thread after one message. They use the inbox as it was read; the store writes
 * the result only if the inbox has not changed since.
 */

export interface InboxState {
  id: string;
  /** The number of messages so far. Messages are numbered from 1, so this is also the number of the last one. */
  messageCount: number;
  inboundCount: number;
  threadCount: number;
  unreadCount: number;
  /** The numbers of threads in these folders. All others are in the folder `inbox`. */
  archiveCount: number;
  trashCount: number;
  /** The sum of the sizes of the messages. */
  storageBytes: number;
  lastMessageAt: Date | null;
  lastMessageId: string | null;
}

/** The facts about an inbox that are needed to file a mail or to judge a send. */
export interface InboxTotals extends InboxState {
  accountId: string;
  username: string;
  /** The last UTC day with a send, and the number of sends on that day. */
  sentOn: string | null;
  sentCount: number;
}

/** An address of a thread, with its display name. */
export interface Person {
  address: string;
  name: string | null;
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
  /** The first twenty addresses that wrote or were written to, each with the newest name that it bore. */
  people: Person[];
  preview: string;
  hasAttachments: boolean;
  folder: Folder;
  labels: readonly string[];
  metadata: Metadata | null;
  /** When it was put into the trash; null in any other folder. */
  trashedAt: Date | null;
}

export interface MessageFacts {
  id: string;
  direction: "inbound" | "outbound";
  at: Date;
  sizeBytes: number;
  subject: string;
  preview: string;
  hasAttachments: boolean;
  people: readonly { address: string; name?: string | null | undefined }[];
  /**
   * Whether the thread is unread after this message. It is read after an outbound message whose sender has seen all inbound mail of the
   * thread.
   */
  leavesUnread: boolean;
  /** Labels to add to the thread. */
  labels?: readonly string[] | undefined;
}

export interface Recorded<Inbox extends InboxState> {
  inbox: Inbox;
  thread: ThreadState;
  seq: number;
  /** The message's number among the inbound or the outbound messages of the inbox. */
  directionSeq: number;
  createdAt: Date;
}

const mostPeople = 20;
/** The most characters of a name in a thread, as many as we send. Longer ones would be written again with each mail of the thread. */
const longestName = 100;

/** Adds a message to an inbox. `thread` is the thread that the message joins; if undefined, a new thread starts with `newThreadId`. */
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
  // An unread thread is always in the inbox, so inbound mail brings it back from any folder.
  const staysFiled = thread !== undefined && isRead;
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
    people: peopleAfter(thread?.people ?? [], message.people),
    preview: message.preview,
    hasAttachments: (thread?.hasAttachments ?? false) || message.hasAttachments,
    folder: staysFiled ? thread.folder : "inbox",
    labels: message.labels ? labelsAfter(thread?.labels ?? [], message.labels) : (thread?.labels ?? []),
    metadata: thread?.metadata ?? null,
    trashedAt: staysFiled ? thread.trashedAt : null,
  };
  return {
    seq,
    directionSeq: inbound ? inboundCount : seq - inboundCount,
    createdAt,
    thread: next,
    inbox: {
      ...withThread(inbox, thread, next),
      messageCount: seq,
      inboundCount,
      storageBytes: inbox.storageBytes + message.sizeBytes,
      lastMessageAt: createdAt,
      lastMessageId: message.id,
    },
  };
}

type ThreadTotals = Pick<InboxState, "threadCount" | "unreadCount" | "archiveCount" | "trashCount">;

/** The totals of an inbox after a change of a thread. Undefined is a thread that does not exist: before its first or after its last message. */
export function withThread<Totals extends ThreadTotals>(
  totals: Totals,
  before: ThreadState | undefined,
  after: ThreadState | undefined,
): Totals {
  const change = (counts: (thread: ThreadState) => boolean) =>
    Number(after !== undefined && counts(after)) - Number(before !== undefined && counts(before));
  return {
    ...totals,
    threadCount: totals.threadCount + change(() => true),
    unreadCount: totals.unreadCount + change(({ isRead }) => !isRead),
    archiveCount: totals.archiveCount + change(({ folder }) => folder === "archive"),
    trashCount: totals.trashCount + change(({ folder }) => folder === "trash"),
  };
}

/** The people of a thread after a message. A mail without a name of its sender leaves the name that the sender had. */
export function peopleAfter(before: readonly Person[], added: MessageFacts["people"]): Person[] {
  const names = new Map(before.map(({ address, name }) => [address, name]));
  for (const { address, name } of added) {
    const known = names.get(address);
    if (known !== undefined || names.size < mostPeople)
      names.set(address, name ? truncateCodePoints(name, longestName) : (known ?? null));
  }
  return [...names].map(([address, name]) => ({ address, name }));
}

/**
 * The instant of a message. Messages must have the same order by number, by (instant, id) and by the ids of their events. If this order
 * would break, because another process was faster or a clock is slow, the message is dated one millisecond after the last one.
 */
function instantAfter(inbox: InboxState, { id, at }: MessageFacts): Date {
  const { lastMessageAt, lastMessageId } = inbox;
  if (lastMessageAt === null || lastMessageId === null || at > lastMessageAt) return at;
  const sameInstant = at.getTime() === lastMessageAt.getTime();
  const isBehind = sameInstant && id > lastMessageId && arrivalEventId(id, at) > arrivalEventId(lastMessageId, at);
  return isBehind ? at : new Date(lastMessageAt.getTime() + 1);
}

/**
 * The id of the event for a message's arrival. These ids sort like the numbers of the messages: the log sorts the events of one transaction
 * by id, and the outbox sorts the deliveries of one instant by id.
 */
export function arrivalEventId(messageId: string, createdAt: Date): string {
  return idBeside(messageId, "evt", createdAt);
}
