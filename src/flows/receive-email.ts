import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { lockInboxes } from "../store/inboxes.ts";
import { type AskedOfMails, findKnownOfMails, insertMails } from "../store/receiving.ts";
import { insertSources, markSourceShares } from "../store/sources.ts";
import { type Arrival, arrivalOf, greatBytes, type ReceivedMail } from "./arrival.ts";
import type { Deps } from "./deps.ts";
import { type Filing, fileArrivals, type Receipt } from "./file-arrivals.ts";
import { groupCommit } from "./group-commit.ts";
import { type InboxMemory, inboxMemory } from "./inbox-memory.ts";

/** The same mail again within this time is the same mail (service contract §6). */
const duplicateWindowMs = 7 * 24 * 3_600_000;

/** Resolves when the mail is on disk in every inbox: the answer to a sender may follow. */
export function mailReceiver(deps: Deps): (mail: ReceivedMail) => Promise<Receipt> {
  const memory = inboxMemory(deps.now);
  const line = {
    sizeOf: (arrival: Arrival) => arrival.sizeBytes,
    isHopeless: (error: unknown) => error instanceof DatabaseUnavailable,
    lanesOf: inboxIdsOf,
  };
  const commit = groupCommit<Arrival, Receipt>({
    ...line,
    commit: async (arrivals) => receiptsOf(deps, await storeMails(deps, memory, arrivals)),
    mostBytes: 2 << 20,
    leastBeside: 16,
  });
  // Nobody waits behind a great mail.
  const commitGreat = groupCommit<Arrival, Receipt>({
    ...line,
    commit: async ([arrival]) => (arrival === undefined ? [] : receiptsOf(deps, await storeGreatMail(deps, arrival))),
    mostItems: 1,
  });
  return async (received) => {
    const arrival = await arrivalOf(deps, received);
    return arrival.sizeBytes > greatBytes ? commitGreat(arrival) : commit(arrival);
  };
}

/**
 * One statement where the inboxes are remembered, else two, and no transaction, since most stay as they were meanwhile. Where one
 * did not, all is asked and decided again behind a lock, and then nothing changes any more.
 */
async function storeMails(deps: Deps, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Filing> {
  const { mail: db } = deps.db;
  const filing =
    (await fileFromMemory(db, memory, arrivals)) ??
    (await fileUnlessOutrun(db, arrivals)) ??
    (await transaction(db, async (tx) => {
      await lockInboxes(tx, idsOf(arrivals));
      return filedBehindLock(await fileUnlessOutrun(tx, arrivals));
    }));
  memory.remember(filing.inboxes);
  return filing;
}

/** Mails that name no others, taken for new. Undefined, and nothing is written, where one is not or an inbox has changed. */
async function fileFromMemory(db: Db, memory: InboxMemory, arrivals: readonly Arrival[]): Promise<Filing | undefined> {
  if (arrivals.some(({ ancestorHashes }) => ancestorHashes.length > 0)) return undefined;
  const ids = idsOf(arrivals);
  const inboxes = memory.recall(ids);
  if (inboxes === undefined) return undefined;
  const filing = fileArrivals(arrivals, { inboxes, copies: [], parents: [], awaiting: [] });
  const written = await write(db, filing, duplicatesSince(arrivals));
  if (written === undefined) memory.mistrust(ids);
  return written;
}

/** Its bytes go first, a piece at a time: they take a while, and its inboxes must not be locked so long. */
function storeGreatMail(deps: Deps, arrival: Arrival): Promise<Filing> {
  const { sourceId: id, chunks, deliveries } = arrival;
  return transaction(deps.db.mail, async (tx) => {
    await insertSources(tx, [{ id, shares: deliveries.length, chunks }]);
    await lockInboxes(tx, idsOf([arrival]));
    const filing = filedBehindLock(await fileUnlessOutrun(tx, [{ ...arrival, chunks: [] }]));
    const shares = filing.messages.length;
    if (shares < deliveries.length) await markSourceShares(tx, id, shares);
    return filing;
  });
}

/** Undefined, and nothing is written, where an inbox has changed between the reading and the writing. */
async function fileUnlessOutrun(db: Db, arrivals: readonly Arrival[]): Promise<Filing | undefined> {
  const filing = fileArrivals(arrivals, await findKnownOfMails(db, askedOf(arrivals)));
  return filing.messages.length === 0 ? filing : write(db, filing);
}

/** The filing with its inboxes as they are behind it. */
async function write(db: Db, filing: Filing, unlessKnownSince?: Date): Promise<Filing | undefined> {
  const version = await insertMails(db, filing, unlessKnownSince);
  if (version === undefined) return undefined;
  return { ...filing, inboxes: filing.inboxes.map((inbox) => ({ ...inbox, version })) };
}

function filedBehindLock(filing: Filing | undefined): Filing {
  if (filing === undefined) throw new Error("Cannot file mail: its inbox has changed behind a lock");
  return filing;
}

function receiptsOf(deps: Deps, { outboxItems, receipts }: Filing): Receipt[] {
  if (outboxItems.length > 0) deps.nudge("webhook");
  return receipts;
}

function askedOf(arrivals: readonly Arrival[]): AskedOfMails {
  const copies = arrivals.flatMap(({ deliveries, messageIdHash, contentHash }) =>
    deliveries.map(({ inboxId }) => ({ inboxId, messageIdHash, contentHash })),
  );
  const ancestors = arrivals.flatMap(({ deliveries, ancestorHashes }) =>
    deliveries.flatMap(({ inboxId }) => ancestorHashes.map((messageIdHash) => ({ inboxId, messageIdHash }))),
  );
  return { inboxIds: idsOf(arrivals), copies, ancestors, notBefore: duplicatesSince(arrivals) };
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
