import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { lockInboxes } from "../store/inboxes.ts";
import { findKnownOfMails, insertMails } from "../store/receiving.ts";
import { insertSources, markSourceShares } from "../store/sources.ts";
import { type Arrival, arrivalOf, greatBytes, type ReceivedMail } from "./arrival.ts";
import type { Deps } from "./deps.ts";
import { type Filing, fileArrivals, type Receipt, type ReceiveFacts } from "./file-arrivals.ts";
import { groupCommit } from "./group-commit.ts";

/** The same mail again within this time is the same mail (service contract §6). */
const duplicateWindowMs = 7 * 24 * 3_600_000;

/** Resolves when the mail is on disk in every inbox: the answer to a sender may follow. */
export function mailReceiver(deps: Deps): (mail: ReceivedMail) => Promise<Receipt> {
  const line = {
    sizeOf: (arrival: Arrival) => arrival.sizeBytes,
    isHopeless: (error: unknown) => error instanceof DatabaseUnavailable,
  };
  const commit = groupCommit<Arrival, Receipt>({
    ...line,
    commit: (arrivals) => storeMails(deps, arrivals),
    mostBytes: 2 << 20,
    leastBeside: 16,
  });
  // Nobody waits behind a great mail.
  const commitGreat = groupCommit<Arrival, Receipt>({
    ...line,
    commit: ([arrival]) => storeGreatMail(deps, arrival),
    mostItems: 1,
  });
  return async (received) => {
    const arrival = await arrivalOf(deps, received);
    return arrival.sizeBytes > greatBytes ? commitGreat(arrival) : commit(arrival);
  };
}

async function storeMails(deps: Deps, arrivals: readonly Arrival[]): Promise<Receipt[]> {
  const filed = await transaction(deps.db.mail, async (tx) => {
    const filing = fileArrivals(arrivals, await factsOf(tx, arrivals));
    if (filing.messages.length > 0) await insertMails(tx, filing);
    return filing;
  });
  return receiptsOf(deps, filed);
}

/** Its bytes go first, a piece at a time: they take a while, and its inboxes must not be locked so long. */
async function storeGreatMail(deps: Deps, arrival: Arrival | undefined): Promise<Receipt[]> {
  if (arrival === undefined) return [];
  const { sourceId: id, chunks, deliveries } = arrival;
  const filed = await transaction(deps.db.mail, async (tx) => {
    await insertSources(tx, [{ id, shares: deliveries.length, chunks }]);
    const filing = fileArrivals([arrival], await factsOf(tx, [arrival]));
    const shares = filing.messages.length;
    if (shares < deliveries.length) await markSourceShares(tx, id, shares);
    if (shares > 0) await insertMails(tx, { ...filing, sources: [] });
    return filing;
  });
  return receiptsOf(deps, filed);
}

function receiptsOf(deps: Deps, { outboxItems, receipts }: Filing): Receipt[] {
  if (outboxItems.length > 0) deps.nudge("webhook");
  return receipts;
}

/** The lock goes first, so that the rest is read behind it. */
async function factsOf(tx: Db, arrivals: readonly Arrival[]): Promise<ReceiveFacts> {
  const copies = arrivals.flatMap(({ deliveries, messageIdHash, contentHash }) =>
    deliveries.map(({ inboxId }) => ({ inboxId, messageIdHash, contentHash })),
  );
  const ancestors = arrivals.flatMap(({ deliveries, ancestorHashes }) =>
    deliveries.flatMap(({ inboxId }) => ancestorHashes.map((messageIdHash) => ({ inboxId, messageIdHash }))),
  );
  const earliest = Math.min(...arrivals.map(({ receivedAt }) => receivedAt.getTime()));
  const notBefore = new Date(earliest - duplicateWindowMs);
  const [inboxes, known] = await Promise.all([
    lockInboxes(tx, [...new Set(copies.map(({ inboxId }) => inboxId))]),
    findKnownOfMails(tx, { copies, ancestors, notBefore }),
  ]);
  return { inboxes, ...known };
}
