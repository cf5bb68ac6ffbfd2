import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseUnavailable, type Db, isLockTimeout, transaction } from "../../database/db.ts";
import { type Filing, fileMails, type Receipt } from "../../domain/receive/file-mails.ts";
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
import { type Arrival, arrivalOf, largeBytes, type ReceivedMail, slicesOf } from "./arrival.ts";
import { type InboxMemory, inboxMemory } from "./inbox-memory.ts";

/** The same mail again within this time is the same mail (contract §6). */
const duplicateWindowMs = 7 * 24 * 3_600_000;

/** A filing that is written, with its inboxes as they are behind it. */
type Filed = Filing & Pick<WrittenMails, "promised">;

/** What came of an attempt; `held` where somebody else has an inbox of the mail locked, and nothing is written. */
type Attempt = Receipt | "held";

/** Resolves when the mail is on disk in every inbox: the answer to a sender may follow. */
export function mailReceiver(deps: Deps): (mail: ReceivedMail) => Promise<Receipt> {
  const memory = inboxMemory(deps.now);
  const line = {
    sizeOf: (arrival: Arrival) => arrival.weightBytes,
    // A lock that is not given up in time is the affair of one inbox.
    isHopeless: (error: unknown) => error instanceof DatabaseUnavailable && !isLockTimeout(error),
    lanesOf: inboxIdsOf,
    mostBytes: 2 << 20,
  };
  const commit = groupCommit<Arrival, Attempt>({
    ...line,
    commit: (arrivals) => storeMails(deps, memory, arrivals),
    leastBeside: 16,
  });
  const commitHeld = groupCommit<Arrival, Attempt>({
    ...line,
    commit: (arrivals) => storeUnheld(deps, memory, arrivals),
    inFlight: 1,
  });
  // A large mail is committed alone: nobody waits behind it.
  const commitLarge = groupCommit<Arrival, Attempt>({
    ...line,
    commit: async ([arrival]) => (arrival === undefined ? [] : [await storeLargeMail(deps, arrival)]),
    mostItems: 1,
  });
  return async (received) => {
    const arrival = await arrivalOf(deps, received);
    const isAlone = arrival.weightBytes > largeBytes || arrival.promise !== undefined;
    if (isAlone) return untilNotHeld(commitLarge(arrival), () => commitLarge(arrival));
    return untilNotHeld(commit(arrival), () => commitHeld(arrival));
  };
}

/** Another process has the claim by now, and files the mail or has done so. */
export class PromiseTaken extends Error {}

/**
 * A mail whose inbox somebody else has locked for longer than it takes to file mail waits here, where it has no connection and no
 * batch that others are in, and looks again and again.
 */
async function untilNotHeld(first: Promise<Attempt>, again: () => Promise<Attempt>): Promise<Receipt> {
  const endMs = performance.now() + longestHeldMs;
  let attempt = await first;
  while (attempt === "held") {
    if (performance.now() > endMs) throw new DatabaseUnavailable("an inbox is locked by somebody else");
    await sleep(heldPauseMs);
    attempt = await again();
  }
  return attempt;
}

/** As long as a statement waits for a lock. */
const longestHeldMs = 6_000;
const heldPauseMs = 100;

/**
 * One statement where the inboxes are remembered, else two, and no transaction, since most stay as they were meanwhile. Where one
 * did not, all is asked and decided again behind a lock, and then nothing changes any more.
 */
async function storeMails(deps: Deps, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Attempt[]> {
  const { mail: db } = deps.db;
  const filing = (await fileFromMemory(db, memory, arrivals)) ?? (await fileUnlessOutrun(db, arrivals));
  if (filing === undefined) return storeBehindLock(deps, memory, arrivals);
  memory.remember(filing.inboxes);
  return receiptsOf(deps, filing);
}

/** Waits for other processes that file mail in the same inboxes; who has one for longer has no more than its own mail wait. */
async function storeBehindLock(deps: Deps, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Attempt[]> {
  const filing = await transaction(deps.db.mail, async (tx) => {
    await lockSenders(tx, idsOf(arrivals), longestBatchWaitMs);
    return filedBehindLock(await fileUnlessOutrun(tx, arrivals));
  }).catch(undefinedIfLocked);
  if (filing === undefined) return storeUnheld(deps, memory, arrivals);
  memory.remember(filing.inboxes);
  return receiptsOf(deps, filing);
}

/** Many times what a batch takes. */
const longestBatchWaitMs = 200;

function undefinedIfLocked(error: unknown): undefined {
  if (!isLockTimeout(error)) throw error;
}

/** Behind a lock on all inboxes that nobody else has locked; waits for none. */
async function storeUnheld(deps: Deps, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Attempt[]> {
  const { free, filing } = await transaction(deps.db.mail, async (tx) => {
    const held = new Set(await lockFreeInboxes(tx, idsOf(arrivals)));
    const free = arrivals.filter((arrival) => !inboxIdsOf(arrival).some((id) => held.has(id)));
    return { free, filing: free.length === 0 ? undefined : filedBehindLock(await fileUnlessOutrun(tx, free)) };
  });
  if (filing === undefined) return arrivals.map(() => "held");
  memory.remember(filing.inboxes);
  const receipts = new Map(receiptsOf(deps, filing).map((receipt, index) => [free[index], receipt]));
  return arrivals.map((arrival) => receipts.get(arrival) ?? "held");
}

/** Mails that name no others, taken for new. Undefined, and nothing is written, where one is not or an inbox has changed. */
async function fileFromMemory(db: Db, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Filed | undefined> {
  if (arrivals.some(namesOthers)) return undefined;
  const ids = idsOf(arrivals);
  const inboxes = memory.recall(ids);
  if (inboxes === undefined) return undefined;
  const filing = fileMails(arrivals, { inboxes, copies: [], parents: [], awaiting: [] });
  const written = await write(db, filing, { isGuess: true });
  if (written === undefined) memory.mistrust(ids);
  return written;
}

function namesOthers({ ancestorHashes, deliveries }: Arrival): boolean {
  return ancestorHashes.length > 0 || deliveries.some(({ answeredHash }) => answeredHash !== undefined);
}

/**
 * Its bytes go first, a piece at a time: they take a while, and its inboxes must not be locked so long. Then it is filed for a few
 * inboxes at a time, for all of them or none. A promise to file it goes by the same transaction, so that it is kept once, whoever
 * dies when.
 */
async function storeLargeMail(deps: Deps, arrival: Arrival): Promise<Attempt> {
  const { sourceId: id, chunks, deliveries, promise } = arrival;
  const inboxIds = inboxIdsOf(arrival);
  const held = await lockFreeInboxes(deps.db.mail, inboxIds);
  if (held.length > 0) return "held";
  const filings = await transaction(deps.db.mail, async (tx) => {
    if (promise !== undefined && !(await removeUnparsedMail(tx, promise))) throw new PromiseTaken();
    await insertSources(tx, [{ id, shares: deliveries.length, chunks }]);
    await lockInboxes(tx, inboxIds);
    const filings: Filed[] = [];
    for (const slice of slicesOf({ ...arrival, chunks: [] })) {
      const bodiesOf = filings.flatMap(({ messages }) => messages)[0]?.id;
      filings.push(filedBehindLock(await fileUnlessOutrun(tx, [slice], { bodiesOf })));
    }
    const shares = filings.reduce((sum, { messages }) => sum + messages.length, 0);
    if (shares < deliveries.length) await markSourceShares(tx, id, shares);
    return filings;
  });
  const receipts = filings.flatMap((filing) => receiptsOf(deps, filing));
  return receipts.includes("stored") ? "stored" : "gone";
}

/** Undefined, and nothing is written, where an inbox has changed between the reading and the writing. */
async function fileUnlessOutrun(
  db: Db,
  arrivals: readonly Arrival[],
  writing?: MailsWriting,
): Promise<Filed | undefined> {
  const filing = fileMails(arrivals, await findKnownOfMails(db, askedOf(arrivals)));
  return filing.messages.length === 0 ? { ...filing, promised: [] } : write(db, filing, writing);
}

async function write(db: Db, filing: Filing, writing?: MailsWriting): Promise<Filed | undefined> {
  const written = await insertMails(db, filing, writing);
  return written && { ...filing, ...written };
}

function filedBehindLock(filing: Filed | undefined): Filed {
  if (filing === undefined) throw new Error("Cannot file mail: its inbox has changed behind a lock");
  return filing;
}

function receiptsOf(deps: Deps, { messages, promised, receipts }: Filed): Receipt[] {
  for (const kind of promised) deps.nudge(kind);
  deps.changes.notify(messages);
  return receipts;
}

function askedOf(arrivals: readonly Arrival[]): AskedOfMails {
  const copies = arrivals.flatMap(({ deliveries, messageIdHash, contentHash }) =>
    contentHash === undefined ? [] : deliveries.map(({ inboxId }) => ({ inboxId, messageIdHash, contentHash })),
  );
  const named = arrivals.flatMap(({ deliveries, messageIdHash, ancestorHashes }) => {
    const hashes = new Set([messageIdHash, ...ancestorHashes]);
    return deliveries.flatMap(({ inboxId, answeredHash }) => {
      const asked = answeredHash === undefined ? hashes : new Set([...hashes, answeredHash]);
      return Array.from(asked, (hash) => ({ inboxId, messageIdHash: hash }));
    });
  });
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
