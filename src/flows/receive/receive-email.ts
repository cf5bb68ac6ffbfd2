/*
 * An optimistic write with a version; three roads, from cheap to sure: from memory (one statement), from a read (two statements and no
 * transaction), behind a lock. The version is the revision of each inbox: a write that finds another revision writes nothing, and the next
 * road is taken. Most inboxes do not change meanwhile, so most mail takes one of the first two roads.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseUnavailable, type Db, isLockTimeout, transaction } from "../../database/db.ts";
import { type Filing, fileMails } from "../../domain/receive/file-mails.ts";
import type { MailOutcome } from "../../domain/receive/inbound-mail.ts";
import { lockFreeInboxes, lockInboxes } from "../../store/account/inboxes.ts";
import {
  type AskedOfMails,
  findKnownOfMails,
  insertMails,
  type MailsWriting,
  type WrittenMails,
} from "../../store/mail/receiving.ts";
import { insertSources, markSourceShares } from "../../store/mail/sources.ts";
import { removeUnparsedMail } from "../../store/mail/unparsed-mails.ts";
import { lockSenders } from "../../store/send/sending.ts";
import type { Deps } from "../deps.ts";
import { groupCommit } from "../group-commit.ts";
import {
  type Arrival,
  arrivalOf,
  duplicateWindowMs,
  largeBytes,
  type ReceivedMail,
  slicesOf,
  threadNames,
} from "./arrival.ts";
import { type InboxMemory, inboxMemory } from "./inbox-memory.ts";

/** The result of `fileMails`, once its rows are written. */
type Filed = Filing & Pick<WrittenMails, "hasDeliveries">;

/** The outcome of one try; undefined if another process has an inbox of the mail locked, and nothing is written. */
type Try = MailOutcome | undefined;

/** Files mail. It resolves when the mail is on disk in every inbox, so that the sender can be answered. */
export function mailReceiver(deps: Deps): (mail: ReceivedMail) => Promise<MailOutcome> {
  const memory = inboxMemory(deps.now);
  const line = {
    sizeOf: (arrival: Arrival) => arrival.weightBytes,
    // If a lock of one inbox times out, the mails for other inboxes can still be filed.
    isHopeless: (error: unknown) => error instanceof DatabaseUnavailable && !isLockTimeout(error),
    lanesOf: inboxIdsOf,
    mostBytes: 2 << 20,
  };
  const file = groupCommit<Arrival, Try>({
    ...line,
    commit: (arrivals) => fileBatch(deps, memory, arrivals),
    leastBeside: 16,
  });
  const fileAgain = groupCommit<Arrival, Try>({
    ...line,
    commit: (arrivals) => skippingLocked(deps, memory, arrivals),
    inFlight: 1,
  });
  // A large mail has a batch of its own, so that no other mail waits for it.
  const fileLarge = groupCommit<Arrival, Try>({
    ...line,
    commit: async ([arrival]) => (arrival === undefined ? [] : [await fileLargeMail(deps, arrival)]),
    mostItems: 1,
  });
  return async (received) => {
    const arrival = await arrivalOf(deps, received);
    const isAlone = arrival.weightBytes > largeBytes || arrival.promise !== undefined || arrival.isReleased;
    return isAlone ? untilUnlocked(arrival, fileLarge, fileLarge) : untilUnlocked(arrival, file, fileAgain);
  };
}

/** Thrown if another process has taken over the claim: that process files the mail, or has filed it. */
export class PromiseTaken extends Error {}

/**
 * Files a mail by `first`, and then by `again` for as long as another process has an inbox of the mail locked, up to 6 seconds. Between two
 * tries the mail occupies no batch and no connection.
 */
async function untilUnlocked(
  arrival: Arrival,
  first: (arrival: Arrival) => Promise<Try>,
  again: (arrival: Arrival) => Promise<Try>,
): Promise<MailOutcome> {
  const endMs = performance.now() + longestLockedMs;
  let outcome = await first(arrival);
  while (outcome === undefined) {
    if (performance.now() > endMs) throw new DatabaseUnavailable("another process has locked an inbox for too long");
    await sleep(lockedPauseMs);
    outcome = await again(arrival);
  }
  return outcome;
}

/** How long to try again for a locked inbox: as long as a statement waits for a lock (`lockMs` of the database). */
const longestLockedMs = 6_000;
const lockedPauseMs = 100;

/** Files a batch by the cheapest road that succeeds. */
async function fileBatch(deps: Deps, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Try[]> {
  const { mail: db } = deps.db;
  const filed = (await tryUnlocked(db, memory, arrivals)) ?? (await behindLock(db, arrivals).catch(undefinedIfLocked));
  if (filed === undefined) return skippingLocked(deps, memory, arrivals);
  memory.remember(filed.inboxes);
  announce(deps, filed);
  return filed.outcomes;
}

/**
 * Tries the two roads without a lock. Undefined, with nothing written, if another process has changed an inbox meanwhile, or did so within
 * the last second: two processes that receive much for the same inboxes would otherwise write most batches two or three times.
 */
async function tryUnlocked(db: Db, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Filed | undefined> {
  const ids = idsOf(arrivals);
  if (memory.isContested(ids)) return undefined;
  const filed = (await tryFromMemory(db, memory, arrivals)) ?? (await tryFromRead(db, arrivals));
  if (filed === undefined) memory.contest(ids);
  return filed;
}

/**
 * First of the three roads (top of this file), only for mails that refer to no other message: assumes that no inbox has them yet, and files
 * them by the inboxes as they are in memory, without a read. Undefined, with nothing written, if that is not possible.
 */
async function tryFromMemory(db: Db, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Filed | undefined> {
  if (arrivals.some((arrival) => namesOthers(arrival) || isBlocked(arrival))) return undefined;
  const ids = idsOf(arrivals);
  const inboxes = memory.recall(ids);
  if (inboxes === undefined) return undefined;
  const filing = fileMails(arrivals, { inboxes, copies: [], parents: [], awaiting: [], removed: [] });
  const filed = await write(db, filing, { isGuess: true });
  if (filed === undefined) memory.mistrust(ids);
  return filed;
}

function namesOthers({ ancestorHashes, deliveries }: Arrival): boolean {
  return ancestorHashes.length > 0 || deliveries.some(({ answeredHash }) => answeredHash !== undefined);
}

function isBlocked({ deliveries }: Arrival): boolean {
  return deliveries.some(({ quarantined }) => quarantined !== undefined);
}

/**
 * Second road: reads the inboxes and the mails that these mails refer to, decides and writes. Undefined, with nothing written, if an inbox
 * has changed between the read and the write.
 */
async function tryFromRead(db: Db, arrivals: readonly Arrival[], writing?: MailsWriting): Promise<Filed | undefined> {
  const filing = fileMails(arrivals, await findKnownOfMails(db, askedOf(arrivals)));
  const isNothing = filing.messages.length === 0 && filing.quarantined.length === 0;
  return isNothing ? { ...filing, hasDeliveries: false } : write(db, filing, writing);
}

async function write(db: Db, filing: Filing, writing?: MailsWriting): Promise<Filed | undefined> {
  const written = await insertMails(db, filing, writing);
  return written && { ...filing, ...written };
}

/** Third road: locks the inboxes against other processes that file mail, and then reads and writes. */
async function behindLock(db: Db, arrivals: readonly Arrival[]): Promise<Filed> {
  return transaction(db, async (tx) => {
    await lockSenders(tx, idsOf(arrivals), longestBatchWaitMs);
    return fromLockedRead(tx, arrivals);
  });
}

/** The longest wait for the locks of a batch. It is many times the duration of a batch. */
const longestBatchWaitMs = 200;

function undefinedIfLocked(error: unknown): undefined {
  if (!isLockTimeout(error)) throw error;
}

/** Files only the mails whose inboxes are all unlocked. The result of the others is undefined. It does not wait for locks. */
async function skippingLocked(deps: Deps, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Try[]> {
  const { free, filed } = await transaction(deps.db.mail, async (tx) => {
    const locked = new Set(await lockFreeInboxes(tx, idsOf(arrivals)));
    const free = arrivals.filter((arrival) => !inboxIdsOf(arrival).some((id) => locked.has(id)));
    return { free, filed: free.length === 0 ? undefined : await fromLockedRead(tx, free) };
  });
  if (filed === undefined) return arrivals.map(() => undefined);
  memory.remember(filed.inboxes);
  announce(deps, filed);
  const outcomes = new Map(free.map((arrival, index) => [arrival, filed.outcomes[index]]));
  return arrivals.map((arrival) => outcomes.get(arrival));
}

async function fromLockedRead(tx: Db, arrivals: readonly Arrival[], writing?: MailsWriting): Promise<Filed> {
  const filed = await tryFromRead(tx, arrivals, writing);
  if (filed === undefined) throw new Error("Cannot file mail: its inbox has changed behind a lock");
  return filed;
}

/**
 * Files a large mail, or one that was kept unparsed, in one transaction. It writes the bytes first, in pieces: that is slow, and the
 * inboxes must not be locked meanwhile. Then it files the mail in a few inboxes at a time. The transaction also removes the promise to file
 * the mail, so the mail is filed exactly once.
 */
async function fileLargeMail(deps: Deps, arrival: Arrival): Promise<Try> {
  const { sourceId: id, deliveries, promise, release } = arrival;
  // A mail that no inbox takes is kept without its attachments, which a release reads from the raw mail.
  const isTaken = deliveries.some(({ quarantined }) => quarantined === undefined);
  const chunks = isTaken ? arrival.chunks : arrival.chunks.filter(({ part }) => part === 0);
  const inboxIds = inboxIdsOf(arrival);
  const locked = await lockFreeInboxes(deps.db.mail, inboxIds);
  if (locked.length > 0) return undefined;
  const slices = await transaction(deps.db.mail, async (tx) => {
    if (promise !== undefined && !(await removeUnparsedMail(tx, promise))) throw new PromiseTaken();
    await insertSources(tx, [{ id, shares: deliveries.length, chunks }]);
    await lockInboxes(tx, inboxIds);
    await release?.begin(tx);
    const filed: Filed[] = [];
    for (const slice of slicesOf({ ...arrival, chunks: [] })) {
      const bodiesOf = filed.flatMap(({ messages }) => messages)[0]?.id;
      filed.push(await fromLockedRead(tx, [slice], { bodiesOf }));
    }
    const shares = filed.reduce((sum, { messages, quarantined }) => sum + messages.length + quarantined.length, 0);
    if (shares < deliveries.length) await markSourceShares(tx, id, shares);
    for (const message of filed.flatMap(({ messages }) => messages)) await release?.end(tx, message);
    return filed;
  });
  for (const filed of slices) announce(deps, filed);
  const outcomes = slices.flatMap((slice) => slice.outcomes);
  return outcomeOfSlices.find((outcome) => outcomes.includes(outcome)) ?? "gone";
}

/** The outcomes of the parts of a mail. The first one that a part has is that of the mail. */
const outcomeOfSlices = ["stored", "quarantined", "disabled"] as const;

/** Wakes the workers and the requests that wait for these mails or their events. */
function announce(deps: Deps, { messages, quarantined, hasDeliveries }: Filed): void {
  if (hasDeliveries) deps.nudge("webhook");
  deps.changes.notify(messages);
  if (quarantined.length > 0) deps.changes.notify(quarantined);
}

function askedOf(arrivals: readonly Arrival[]): AskedOfMails {
  const copies = arrivals.flatMap(({ deliveries, messageIdHash, contentHash }) =>
    contentHash === undefined ? [] : deliveries.map(({ inboxId }) => ({ inboxId, messageIdHash, contentHash })),
  );
  const named = arrivals.flatMap((arrival) => arrival.deliveries.flatMap((delivery) => threadNames(arrival, delivery)));
  return { inboxIds: idsOf(arrivals), copies, named, notBefore: duplicatesSince(arrivals) };
}

function duplicatesSince(arrivals: readonly Arrival[]): Date {
  const earliest = Math.min(...arrivals.map(({ receivedAt }) => receivedAt.getTime()));
  return new Date(earliest - duplicateWindowMs);
}

function idsOf(arrivals: readonly Arrival[]): string[] {
  return [...new Set(arrivals.flatMap(inboxIdsOf))];
}

function inboxIdsOf({ deliveries }: Arrival): string[] {
  return deliveries.map(({ inboxId }) => inboxId);
}
