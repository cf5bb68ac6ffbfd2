import { DatabaseUnavailable, type Db, transaction } from "../store/db.ts";
import { lockInboxes, markInboxTotals } from "../store/inboxes.ts";
import { insertAttachments, insertCorrespondents, insertMessages, listKnownCopies } from "../store/messages.ts";
import { insertEvents, insertOutboxItems } from "../store/outbox.ts";
import { insertSources } from "../store/sources.ts";
import {
  insertAwaitedParents,
  insertThreads,
  listThreadsAwaiting,
  listThreadsOfMessages,
  markThreads,
  type NamedMessage,
} from "../store/threads.ts";
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
  return (received) => commit(arrivalOf(deps, received));
}

async function storeArrivals(deps: Deps, arrivals: readonly Arrival[]): Promise<Receipt[]> {
  const filed = await transaction(deps.db.mail, async (tx) => {
    const filing = fileArrivals(arrivals, await factsOf(tx, arrivals));
    if (filing.messages.length === 0) return filing;
    await Promise.all([
      insertThreads(tx, filing.newThreads),
      markThreads(tx, filing.changedThreads),
      insertMessages(tx, filing.messages),
      insertAttachments(tx, filing.attachments),
      insertSources(tx, filing.sources),
      insertCorrespondents(tx, filing.correspondents),
      insertAwaitedParents(tx, filing.awaitedParents),
      insertEvents(tx, filing.events),
      insertOutboxItems(tx, filing.outboxItems),
      markInboxTotals(tx, filing.inboxes),
    ]);
    return filing;
  });
  if (filed.outboxItems.length > 0) deps.nudge("webhook");
  return filed.receipts;
}

/** All that the decision needs, asked at once: the lock goes first, so that the rest is read behind it. */
async function factsOf(tx: Db, arrivals: readonly Arrival[]): Promise<ReceiveFacts> {
  const copies = arrivals.flatMap(({ deliveries, messageIdHash, contentHash }) =>
    deliveries.map(({ inboxId }) => ({ inboxId, messageIdHash, contentHash })),
  );
  const ancestors: NamedMessage[] = arrivals.flatMap(({ deliveries, ancestorHashes }) =>
    deliveries.flatMap(({ inboxId }) => ancestorHashes.map((messageIdHash) => ({ inboxId, messageIdHash }))),
  );
  const earliest = Math.min(...arrivals.map(({ receivedAt }) => receivedAt.getTime()));
  const [inboxes, knownCopies, parents, awaiting] = await Promise.all([
    lockInboxes(tx, [...new Set(copies.map(({ inboxId }) => inboxId))]),
    listKnownCopies(tx, copies, new Date(earliest - duplicateWindowMs)),
    listThreadsOfMessages(tx, ancestors),
    listThreadsAwaiting(tx, copies),
  ]);
  return { inboxes, knownCopies, parents, awaiting };
}
