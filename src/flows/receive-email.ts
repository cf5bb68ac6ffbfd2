import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { lockInboxes } from "../store/inboxes.ts";
import { findKnownOfMails, insertMails } from "../store/receiving.ts";
import { type Arrival, arrivalOf, type ReceivedMail } from "./arrival.ts";
import type { Deps } from "./deps.ts";
import { fileArrivals, type Receipt, type ReceiveFacts } from "./file-arrivals.ts";
import { groupCommit } from "./group-commit.ts";

/** The same mail again within this time is the same mail (service contract §6). */
const duplicateWindowMs = 7 * 24 * 3_600_000;

/** Resolves when the mail is on disk in every inbox: the answer to a sender may follow. */
export function mailReceiver(deps: Deps): (mail: ReceivedMail) => Promise<Receipt> {
  const commit = groupCommit<Arrival, Receipt>({
    commit: (arrivals) => storeArrivals(deps, arrivals),
    sizeOf: (arrival) => arrival.sizeBytes,
    isHopeless: (error) => error instanceof DatabaseUnavailable,
  });
  return async (received) => commit(await arrivalOf(deps, received));
}

async function storeArrivals(deps: Deps, arrivals: readonly Arrival[]): Promise<Receipt[]> {
  const filed = await transaction(deps.db.mail, async (tx) => {
    const filing = fileArrivals(arrivals, await factsOf(tx, arrivals));
    if (filing.messages.length > 0) await insertMails(tx, filing);
    return filing;
  });
  if (filed.outboxItems.length > 0) deps.nudge("webhook");
  return filed.receipts;
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
