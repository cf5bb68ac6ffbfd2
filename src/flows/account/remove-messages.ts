import { setTimeout as sleep } from "node:timers/promises";
import { type Db, transaction } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { type Actor, type ActorIn, service } from "../../domain/access/actor.ts";
import { arrivalEventId, type Person, peopleAfter, type ThreadState } from "../../domain/conversation.ts";
import { notFound } from "../../domain/errors.ts";
import { shownLabels } from "../../domain/filing.ts";
import { isId } from "../../domain/ids.ts";
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
import { isOpen } from "../../domain/send/draft.ts";
import { blockChanges } from "../../domain/thread-blocks.ts";
import { lockInboxes, markInboxTotals } from "../../store/account/inboxes.ts";
import { insertCounts, lockCounting } from "../../store/account/usage.ts";
import { removeLabels } from "../../store/mail/labels.ts";
import { changeBlocks } from "../../store/mail/thread-blocks.ts";
import { findThread } from "../../store/mail/thread-pages.ts";
import { listThreadsOfInbox, markThreads } from "../../store/mail/threads.ts";
import { findDraft, findLockedDraft, removeDrafts } from "../../store/send/drafts.ts";
import {
  deleteDeliveriesInLine,
  deleteEventsOfUnsent,
  deleteMessages,
  deleteRemovedThread,
  deleteThreads,
  findInboxOfMessage,
  findLastMessage,
  findMessageToRemove,
  holdRemoval,
  insertRemovedThreads,
  isUnsentInThread,
  listEventsOfOutbound,
  listFirstMessages,
  listFirstOfThread,
  listInLine,
  listPeopleOfThreads,
  listThreadRemains,
  listThreadStates,
  listTrashedThreads,
  lockInboxToEmpty,
  lockOutbound,
  lockRemovedThread,
  markMessagesRemoved,
  removeReleased,
} from "../../store/upkeep/removal.ts";
import { audit } from "../audit.ts";
import type { Deps } from "../deps.ts";
import { sendInProgress } from "../send/cancel-mail.ts";
import { endDraftsIn } from "../send/end-draft.ts";

export interface RemovingDeps extends Pick<Deps, "db" | "now" | "newId" | "changes"> {
  /** Called with the number of messages that were removed on request. */
  removed?: ((messages: number) => void) | undefined;
}

export interface RemovalRequest {
  inboxId: string;
  /** Removes messages with a number above this one. */
  afterSeq: number;
  /** The most messages to look at. */
  limit: number;
  /** The days after which the service removes mail; 0: never. */
  daysOfService: number;
}

export interface RemovalStep {
  removed: number;
  /** The number after which the next step goes on; undefined if no message to remove is left after it. */
  next: number | undefined;
}

/**
 * Removes the oldest messages of an inbox: those that its retention no longer keeps, or all if it is deleted. It is one transaction under
 * the lock of the inbox, so that mail comes before or after it, and the totals always equal what a count says. A message stays while it
 * waits to be sent or an event of it is in line. From a deleted inbox no event is delivered. A message that is not counted yet stays too
 * (see `countMail`). Undefined if another process removes mail of this inbox.
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
    const removed = await removeFree(tx, inbox, messages, { isTold: !isDeleted, requestedAt: undefined });
    return { removed, next };
  });
}

/**
 * Removes a message on request. Waits for a moment while another transaction writes what became of it; refuses while it waits to be sent.
 * Its events are not delivered any more, and a copy of it is not stored again.
 */
export async function removeMessage(
  deps: RemovingDeps,
  { actor, ...reach }: ActorIn & Reach,
  messageId: string,
): Promise<void> {
  const inboxId = isId("msg", messageId) ? await findInboxOfMessage(deps.db.api, reach, messageId) : undefined;
  if (inboxId === undefined) return removeUnsent(deps, { actor, ...reach }, messageId);
  const { accountId } = reach;
  const requestedAt = deps.now();
  await countMail(deps, inboxId);
  const remove = () =>
    transaction(deps.db.api, async (tx) => {
      const inbox = await lockLivingInbox(tx, inboxId);
      const message = await findMessageToRemove(tx, inboxId, messageId);
      if (inbox === undefined || message === undefined) throw notFound("message");
      if (await isUnsentInThread(tx, message.threadId, message)) throw sendInProgress("delete message", unsent);
      const removed = await removeFree(tx, inbox, [message], { isTold: false, requestedAt });
      if (removed === 0) return false;
      const target = { type: "message", id: messageId } as const;
      await audit(tx, deps, requestedAt, { action: "message.removed", accountId, actor, target });
      return true;
    });
  if (!(await untilFree(remove))) throw sendInProgress("delete message", "its outcome is being written");
  deps.removed?.(1);
  deps.changes.notify([{ accountId, inboxId }]);
  // The account has fewer bytes at once.
  await countMail(deps, inboxId);
}

const unsent = "mail of it is not sent yet; cancel it first";

/** Removes a scheduled mail that ended without being sent. It has a draft, and no message. */
async function removeUnsent(deps: RemovingDeps, { actor, ...reach }: ActorIn & Reach, id: string): Promise<void> {
  const known = isId("msg", id) ? await findDraft(deps.db.api, reach, id) : undefined;
  if (known === undefined) throw notFound("message");
  const { accountId, inboxId } = known;
  await transaction(deps.db.api, async (tx) => {
    const [inbox] = await lockInboxes(tx, [inboxId]);
    const draft = await findLockedDraft(tx, id);
    if (inbox === undefined || draft?.acceptedAt == null) throw notFound("message");
    // A mail that is sent by now has just been dispatched.
    if (draft.state === "sent" || isOpen(draft.state)) throw sendInProgress("delete message", unsent);
    await deleteEventsOfUnsent(tx, accountId, [id]);
    await removeDrafts(tx, [id]);
    await markInboxTotals(tx, [inbox]);
    await audit(tx, deps, deps.now(), { action: "message.removed", accountId, actor, target: { type: "message", id } });
  });
  deps.changes.notify([{ accountId, inboxId }]);
}

/** A thread with more messages is removed in the background. */
const mostRemovedAtOnce = 1_000;

/**
 * Removes a thread on request, unless a message of it waits to be sent. It is gone at once: its row is deleted, so mail that comes meanwhile
 * starts a new thread. Its messages go in steps, which a worker continues if the thread is long or this process dies. Returns whether all of
 * them are gone.
 */
export async function removeThread(
  deps: RemovingDeps,
  { actor, ...reach }: ActorIn & Reach,
  threadId: string,
): Promise<boolean> {
  const found = isId("thr", threadId) ? await findThread(deps.db.api, reach, threadId) : undefined;
  if (found === undefined) throw notFound("thread");
  const { inboxId, lastSeq } = found;
  const { accountId } = reach;
  // The inbox is not locked while a long thread is read. Behind the lock only its later messages are.
  if (await isUnsentInThread(deps.db.api, threadId, { after: 0 })) throw sendInProgress("delete thread", unsent);
  const removedAt = deps.now();
  const messageCount = await transaction(deps.db.api, async (tx) => {
    const inbox = await lockLivingInbox(tx, inboxId);
    const [thread] = await listThreadsOfInbox(tx, inboxId, [threadId]);
    if (inbox === undefined || thread === undefined) throw notFound("thread");
    if (await isUnsentInThread(tx, threadId, { after: lastSeq })) throw sendInProgress("delete thread", unsent);
    await takeOut(tx, deps, inbox, [thread], { actor, at: removedAt });
    const target = { type: "thread", id: threadId } as const;
    const details = { messages: thread.messageCount };
    await audit(tx, deps, removedAt, { action: "thread.removed", accountId, actor, target, details });
    return thread.messageCount;
  });
  deps.changes.notify([{ accountId, inboxId }]);
  if (messageCount > mostRemovedAtOnce) return false;
  const isWhole = await untilFree(async () => {
    await countMail(deps, inboxId);
    for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
      const step = await removeOfThread(deps, { threadId, afterSeq, limit: mostRemovedAtOnce });
      if (step === undefined) return false;
      deps.removed?.(step.removed);
      if (step.isWhole) return true;
      afterSeq = step.next;
    }
    return false;
  });
  await countMail(deps, inboxId);
  return isWhole;
}

/**
 * Takes threads out of their inbox, which is locked, with their labels and open drafts. Their messages stay until `removeOfThread` removes
 * them.
 */
async function takeOut(
  tx: Db,
  deps: Pick<Deps, "newId">,
  inbox: EmptiedInbox,
  threads: readonly ThreadState[],
  { actor, at }: { actor: Actor; at: Date },
): Promise<void> {
  const { accountId, id: inboxId } = inbox;
  const ids = threads.map(({ id }) => id);
  const canceled = await endDraftsIn(tx, accountId, ids, at);
  await forgetThreads(tx, inboxId, threads);
  await insertRemovedThreads(
    tx,
    ids.map((threadId) => ({ threadId, inboxId, removedAt: at })),
  );
  await markMessagesRemoved(tx, inboxWithout(inbox, [], threads, lastOf(inbox)));
  const entries = canceled.map((id) => ({ accountId, actor, target: { type: "message", id } as const }));
  await audit(tx, deps, at, ...entries.map((entry) => ({ ...entry, action: "outbox.canceled" as const })));
}

/**
 * Takes threads that have been in the trash since before an instant out of their inbox, at most `limit` of those behind a number. A thread
 * with mail that waits to be sent stays, and one that mail has come into since it was read. Returns the number behind which the next step
 * goes on; undefined if no thread is left.
 */
export async function removeTrashed(
  deps: Pick<Deps, "db" | "now" | "newId">,
  { inboxId, before, ...place }: { inboxId: string; before: Date; afterSeq: number; limit: number },
): Promise<number | undefined> {
  const { work } = deps.db;
  // The inbox is not locked while long threads are read.
  const listed = await listTrashedThreads(work, { inboxId, before, ...place });
  const lastOfThread = new Map(listed.filter(({ isUnsent }) => !isUnsent).map(({ id, lastSeq }) => [id, lastSeq]));
  if (lastOfThread.size > 0)
    await transaction(work, async (tx) => {
      const inbox = await lockLivingInbox(tx, inboxId);
      const threads = await listThreadsOfInbox(tx, inboxId, [...lastOfThread.keys()]);
      const over = threads.filter(
        ({ id, lastSeq, trashedAt }) => lastOfThread.get(id) === lastSeq && trashedAt !== null && trashedAt < before,
      );
      if (inbox !== undefined && over.length > 0)
        await takeOut(tx, deps, inbox, over, { actor: service, at: deps.now() });
    });
  return listed.length < place.limit ? undefined : listed.at(-1)?.lastSeq;
}

/** Removes the first messages of a removed thread behind a number. Undefined if another process does, or if they are gone. */
export async function removeOfThread(
  deps: Pick<Deps, "db">,
  { threadId, afterSeq, limit }: { threadId: string; afterSeq: number; limit: number },
): Promise<(RemovalStep & { isWhole: boolean }) | undefined> {
  return transaction(deps.db.work, async (tx) => {
    const thread = await lockRemovedThread(tx, threadId);
    const inbox = thread && (await lockInboxToEmpty(tx, thread.inboxId));
    if (inbox === undefined) return undefined;
    const listed = await listFirstOfThread(tx, threadId, afterSeq, limit);
    const first = listed.filter(({ seq }) => seq <= inbox.countedSeq);
    const { messages, next } = removableOf(first, endOfTime, limit);
    const removed = await removeFree(tx, inbox, messages, { isTold: false, requestedAt: thread?.removedAt });
    return { removed, next, isWhole: next === undefined && (await deleteRemovedThread(tx, threadId)) };
  });
}

/** How long a removal waits for messages that another transaction has locked, which writes what became of them. */
const longestLockedMs = 2_000;
const lockedPauseMs = 20;

/** Tries again until the removal has done all. Returns false if it takes too long. */
async function untilFree(remove: () => Promise<boolean>): Promise<boolean> {
  const endMs = performance.now() + longestLockedMs;
  while (!(await remove())) {
    if (performance.now() > endMs) return false;
    await sleep(lockedPauseMs);
  }
  return true;
}

async function lockLivingInbox(tx: Db, id: string): Promise<EmptiedInbox | undefined> {
  const inbox = await lockInboxToEmpty(tx, id);
  return inbox?.deletedAt === null ? inbox : undefined;
}

interface RemovalManner {
  /** Whether the events of the messages are delivered first. Else they are not delivered any more. */
  isTold: boolean;
  /** When the removal was requested; undefined if the retention of the messages is over. */
  requestedAt: Date | undefined;
}

/** Removes those of these messages that are free, and mends the totals of their inbox, which is locked. Returns how many it removed. */
async function removeFree(
  tx: Db,
  inbox: EmptiedInbox,
  messages: readonly OldMessage[],
  { isTold, requestedAt }: RemovalManner,
): Promise<number> {
  const { gone, eventIds } = await withoutWaiting(tx, messages, isTold);
  if (gone.length === 0) return 0;
  await deleteMessages(tx, { accountId: inbox.accountId, inboxId: inbox.id, messages: gone, eventIds, requestedAt });
  // The threads and totals of a deleted inbox are not shown any more, and its threads are deleted with its other rows.
  if (inbox.deletedAt === null) await mendInbox(tx, inbox, gone);
  await removeReleased(
    tx,
    gone.map(({ id }) => id),
  );
  return gone.length;
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
  isTold: boolean,
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
  if (!isTold) await deleteDeliveriesInLine(tx, subjects.filter(isEvent));
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
  await forgetThreads(tx, inbox.id, empty);
  const others = threads.filter((thread) => !empty.includes(thread));
  const remains = await remainsOf(tx, others);
  const changed = others.flatMap((thread) => {
    const left = remains.get(thread.id);
    return left === undefined ? [] : [{ before: thread, after: threadWithout(thread, countOf(thread.id), left) }];
  });
  await markThreads(
    tx,
    changed.map(({ after }) => after),
  );
  await changeBlocks(tx, blockChanges(changed));
  const hasLast = gone.every(({ id }) => id !== inbox.lastMessageId);
  const last = hasLast ? lastOf(inbox) : await findLastMessage(tx, inbox.id);
  await markMessagesRemoved(tx, inboxWithout(inbox, gone, empty, last));
}

/** Deletes threads of an inbox with their labels. */
async function forgetThreads(tx: Db, inboxId: string, threads: readonly ThreadState[]): Promise<void> {
  const lost = threads.flatMap((thread) => shownLabels(thread).map((label) => ({ threadId: thread.id, label })));
  await removeLabels(tx, inboxId, lost);
  await changeBlocks(tx, blockChanges(threads.map((before) => ({ before, after: undefined }))));
  await deleteThreads(
    tx,
    threads.map(({ id }) => id),
  );
}

function lastOf({ lastMessageId: id, lastMessageAt: createdAt }: EmptiedInbox) {
  return id === null || createdAt === null ? undefined : { id, createdAt };
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
