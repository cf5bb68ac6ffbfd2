import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { lockInboxes } from "../store/inboxes.ts";
import { type AskedOfMails, findKnownOfMails, insertMails } from "../store/receiving.ts";
import { insertSources, markSourceShares } from "../store/sources.ts";
import { type Arrival, arrivalOf, greatBytes, type ReceivedMail } from "./arrival.ts";
import type { Deps } from "./deps.ts";
import { type Filing, fileArrivals, type Receipt } from "./file-arrivals.ts";
import { groupCommit } from "./group-commit.ts";

/** The same mail again within this time is the same mail (service contract §6). */
const duplicateWindowMs = 7 * 24 * 3_600_000;

/** Resolves when the mail is on disk in every inbox: the answer to a sender may follow. */
export function mailReceiver(deps: Deps): (mail: ReceivedMail) => Promise<Receipt> {
  const line = {
    sizeOf: (arrival: Arrival) => arrival.sizeBytes,
    isHopeless: (error: unknown) => error instanceof DatabaseUnavailable,
    lanesOf: inboxIdsOf,
  };
  const commit = groupCommit<Arrival, Receipt>({
    ...line,
    commit: async (arrivals) => receiptsOf(deps, await storeMails(deps, arrivals)),
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
 * Two statements and no transaction, since most inboxes stay as they were between the two. Where one did not, all is asked and
 * decided again behind a lock, and then nothing changes any more.
 */
async function storeMails(deps: Deps, arrivals: readonly Arrival[]): Promise<Filing> {
  const filing = await fileUnlessOutrun(deps.db.mail, arrivals);
  if (filing !== undefined) return filing;
  return transaction(deps.db.mail, async (tx) => {
    await lockInboxes(tx, idsOf(arrivals));
    return filedBehindLock(await fileUnlessOutrun(tx, arrivals));
  });
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
  return filing.messages.length === 0 || (await insertMails(db, filing)) ? filing : undefined;
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
  const earliest = Math.min(...arrivals.map(({ receivedAt }) => receivedAt.getTime()));
  return { inboxIds: idsOf(arrivals), copies, ancestors, notBefore: new Date(earliest - duplicateWindowMs) };
}

function idsOf(arrivals: readonly Arrival[]): string[] {
  return [...new Set(arrivals.flatMap(inboxIdsOf))];
}

function inboxIdsOf({ deliveries }: Arrival): string[] {
  return deliveries.map(({ inboxId }) => inboxId);
}
