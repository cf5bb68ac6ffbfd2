import { type Db, transaction } from "../../database/db.ts";
import { arrivalEventId, type Person, peopleAfter } from "../../domain/conversation.ts";
import { shownLabels } from "../../domain/filing.ts";
import { previewOf } from "../../domain/preview.ts";
import {
  type EmptiedInbox,
  inboxWithout,
  type OldMessage,
  removableOf,
  retainedSince,
  type ThreadRemains,
  threadWithout,
} from "../../domain/removal.ts";
import { insertCounts, lockCounting } from "../../store/account/usage.ts";
import { removeLabels } from "../../store/mail/labels.ts";
import { markThreads } from "../../store/mail/threads.ts";
import {
  deleteDeliveriesInLine,
  deleteMessages,
  deleteThreads,
  findLastMessage,
  holdRemoval,
  listEventsOfOutbound,
  listFirstMessages,
  listInLine,
  listPeopleOfThreads,
  listThreadRemains,
  listThreadStates,
  listTrashedMessages,
  lockInboxToEmpty,
  lockOutbound,
  markMessagesRemoved,
  type TrashPosition,
} from "../../store/upkeep/removal.ts";
import type { Deps } from "../deps.ts";

export interface RemovalRequest {
  inboxId: string;
  /** Removes messages with a number above this one. */
  afterSeq: number;
  /** The most messages to look at. */
  limit: number;
  /** The days after which the service removes mail; 0: never. */
  daysOfService: number;
}

export interface RemovalStep<Position = number> {
  removed: number;
  /** The position after which the next step goes on; undefined if no message to remove is left after it. */
  next: Position | undefined;
}

/**
 * Removes the oldest messages of an inbox: those that its retention no longer keeps, or all if it is deleted. It is one transaction under
 * the lock of the inbox, so that mail comes before or after it, and the totals always equal what a count says. A message stays while it
 * waits to be sent or an event of it is in line. From a deleted inbox no event is delivered, so only an attempt that runs keeps a message.
 * A message that is not counted yet stays too (see `countMail`). Undefined if another process removes mail of this inbox.
 */
export async function removeOldest(
  deps: Pick<Deps, "db" | "now">,
  request: RemovalRequest,
): Promise<RemovalStep | undefined> {
  const { inboxId, afterSeq, limit, daysOfService } = request;
  return transaction(deps.db.work, async (tx) => {
    if (!(await holdRemoval(tx, inboxId))) return undefined;
    const inbox = await lockInboxToEmpty(tx, inboxId);
    const isDeleted = inbox?.deletedAt !== null;
    const before = isDeleted ? endOfTime : retainedSince(inbox?.retentionDays ?? null, daysOfService, deps.now());
    if (inbox === undefined || before === undefined) return { removed: 0, next: undefined };
    const listed = await listFirstMessages(tx, inboxId, afterSeq, limit);
    const first = listed.filter(({ seq }) => seq <= inbox.countedSeq);
    const { messages, next } = removableOf(first, before, limit);
    return { removed: await removeChosen(tx, inbox, messages), next };
  });
}

/** Removes those of the messages of which nothing is still to be sent. Returns how many. */
async function removeChosen(tx: Db, inbox: EmptiedInbox, messages: readonly OldMessage[]): Promise<number> {
  const isDeleted = inbox.deletedAt !== null;
  const { gone, eventIds } = await withoutWaiting(tx, messages, isDeleted);
  if (gone.length === 0) return 0;
  await deleteMessages(tx, { accountId: inbox.accountId, inboxId: inbox.id, messages: gone, eventIds });
  // The threads and totals of a deleted inbox are not shown any more, and its threads are deleted with its other rows.
  if (!isDeleted) await mendInbox(tx, inbox, gone);
  return gone.length;
}

export interface TrashRequest {
  inboxId: string;
  /** Removes threads that came into the trash before this instant. */
  before: Date;
  /** Removes messages behind this position; undefined for the first step. */
  after: TrashPosition | undefined;
  /** The most messages to look at. */
  limit: number;
}

/**
 * Removes messages of threads that have been in the trash for too long, as `removeOldest` removes old ones. A thread that mail has brought
 * back since the last step keeps the messages that are left.
 */
export async function removeTrashed(
  deps: Pick<Deps, "db">,
  { inboxId, before, after = { threadSeq: 0, seq: 0 }, limit }: TrashRequest,
): Promise<RemovalStep<TrashPosition> | undefined> {
  return transaction(deps.db.work, async (tx) => {
    if (!(await holdRemoval(tx, inboxId))) return undefined;
    const inbox = await lockInboxToEmpty(tx, inboxId);
    if (inbox === undefined || inbox.deletedAt !== null) return { removed: 0, next: undefined };
    const listed = await listTrashedMessages(tx, { inboxId, before, after, limit });
    const counted = listed.filter(({ seq }) => seq <= inbox.countedSeq);
    const { messages, next } = removableOf(counted, endOfTime, limit);
    const removed = await removeChosen(tx, inbox, messages);
    return { removed, next: listed.find(({ seq }) => seq === next) };
  });
}

/** The most messages that one statement counts. */
const countedAtOnce = 5_000;

/** Counts the usage of an inbox up to its last message. What is removed stays counted, so only counted messages are removed. */
export async function countMail({ db }: Pick<Deps, "db">, inboxId: string): Promise<void> {
  for (let uncounted = [inboxId]; uncounted.length > 0; ) {
    uncounted = await transaction(db.work, async (tx) => {
      await lockCounting(tx);
      return insertCounts(tx, [inboxId], countedAtOnce);
    });
  }
}

const endOfTime = new Date(8.64e15);

/** Leaves out the messages of which something is still to be sent. Also returns the events of the others. */
async function withoutWaiting(
  tx: Db,
  messages: readonly OldMessage[],
  isDeleted: boolean,
): Promise<{ gone: OldMessage[]; eventIds: string[] }> {
  const outbound = messages.flatMap(({ id, direction }) => (direction === "outbound" ? [id] : []));
  const locked = outbound.length === 0 ? new Set<string>() : await lockOutbound(tx, outbound);
  const free = messages.filter(({ id, direction }) => direction === "inbound" || locked.has(id));
  const told = locked.size === 0 ? [] : await listEventsOfOutbound(tx, [...locked]);
  const eventsOf = Map.groupBy(told, ({ messageId }) => messageId);
  const subjectsOf = ({ id, direction, createdAt }: OldMessage) =>
    direction === "inbound"
      ? [arrivalEventId(id, createdAt)]
      : [id, ...(eventsOf.get(id) ?? []).map((event) => event.id)];
  const subjects = free.flatMap(subjectsOf);
  if (isDeleted) await deleteDeliveriesInLine(tx, subjects.filter(isEvent));
  const inLine = await listInLine(tx, subjects);
  const gone = free.filter((message) => !subjectsOf(message).some((subject) => inLine.has(subject)));
  return { gone, eventIds: gone.flatMap(subjectsOf).filter(isEvent) };
}

const isEvent = (id: string) => id.startsWith("evt_");

/** Deletes the threads that have no message any more, and writes what is left of the others and of the inbox. */
async function mendInbox(tx: Db, inbox: EmptiedInbox, gone: readonly OldMessage[]): Promise<void> {
  const goneOf = Map.groupBy(gone, ({ threadId }) => threadId);
  const countOf = (threadId: string) => goneOf.get(threadId)?.length ?? 0;
  const threads = await listThreadStates(tx, [...goneOf.keys()]);
  const empty = threads.filter(({ id, messageCount }) => messageCount <= countOf(id));
  const lost = empty.flatMap((thread) => shownLabels(thread).map((label) => ({ threadId: thread.id, label })));
  await removeLabels(tx, inbox.id, lost);
  await deleteThreads(
    tx,
    empty.map(({ id }) => id),
  );
  const others = threads.filter((thread) => !empty.includes(thread));
  const remains = await remainsOf(tx, others);
  await markThreads(
    tx,
    others.flatMap((thread) => {
      const left = remains.get(thread.id);
      return left === undefined ? [] : [threadWithout(thread, countOf(thread.id), left)];
    }),
  );
  const hasLast = gone.every(({ id }) => id !== inbox.lastMessageId);
  const last =
    hasLast && inbox.lastMessageId !== null && inbox.lastMessageAt !== null
      ? { id: inbox.lastMessageId, createdAt: inbox.lastMessageAt }
      : await findLastMessage(tx, inbox.id);
  await markMessagesRemoved(tx, inboxWithout(inbox, gone, empty, last));
}

/** The people of a thread with more messages are left as they are. */
const mostReadForPeople = 1_000;

/** Reads what is left of threads that some messages have left. */
async function remainsOf(
  tx: Db,
  threads: readonly { id: string; messageCount: number }[],
): Promise<Map<string, ThreadRemains>> {
  if (threads.length === 0) return new Map();
  const found = await listThreadRemains(
    tx,
    threads.map(({ id }) => id),
  );
  const short = threads.filter(({ messageCount }) => messageCount <= mostReadForPeople).map(({ id }) => id);
  const peopleOf = new Map<string, Person[]>(short.map((id) => [id, []]));
  for (const { threadId, from, fromName, recipients } of await listPeopleOfThreads(tx, short, mostReadForPeople)) {
    const added = [...(from === "" ? [] : [{ address: from, name: fromName }]), ...(recipients ?? [])];
    peopleOf.set(threadId, peopleAfter(peopleOf.get(threadId) ?? [], added));
  }
  return new Map(
    found.map(({ bodyText, ...remains }) => [
      remains.threadId,
      { ...remains, preview: previewOf(bodyText), people: peopleOf.get(remains.threadId) },
    ]),
  );
}
