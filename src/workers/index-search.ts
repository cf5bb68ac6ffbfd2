import { askedTooMuch, DatabaseUnavailable } from "../database/db.ts";
import type { Deps } from "../flows/deps.ts";
import { indexMessages } from "../flows/read/index-messages.ts";
import {
  findActivity,
  findIndexedSeq,
  findRecentMessages,
  holdParts,
  type IndexingPart,
  insertIndexingParts,
  markIndexed,
  releaseParts,
  settleSearchIndex,
} from "../store/mail/search.ts";
import { pause, type Rounds, startRounds } from "./rounds.ts";

export type SearchIndexerDeps = Pick<Deps, "db" | "now" | "randomBytes" | "log" | "searchWords">;

const pauseMs = 1_000;
/**
 * The duration of the leases. It is long, because each renewal is a write. After a crash no process indexes the parts of that process until
 * its leases end, which does little harm: a search indexes what is missing.
 */
const leaseMs = 120_000;
/** A message may appear this long after messages with later ids, because its transaction commits later. */
const settlingMs = 10_000;
const lookAt = 5_000;
/**
 * The pause after each step while mail comes in or goes out, as a multiple of the step's duration. So indexing then uses one connection for
 * at most a tenth of the time.
 */
const restsWhileBusy = 9;
const busyWithinMs = 1_000;

/**
 * Fills the search index in the background. It may be late or miss a message: a search indexes what is missing. All processes share the
 * work: each holds leases on its share of the parts, and indexes the inboxes in these. A stop waits for the current batch.
 */
export function startSearchIndexer({ db, now, randomBytes, log, searchWords }: SearchIndexerDeps): Rounds {
  const holder = randomBytes(12).toHex();
  let renewMs = 0;
  let areMade = false;
  let held: readonly IndexingPart[] = [];

  /** The parts of this process. */
  async function hold(): Promise<readonly IndexingPart[]> {
    if (performance.now() < renewMs) return held;
    if (!areMade) await insertIndexingParts(db.work);
    areMade = true;
    const at = now();
    const { parts, isShareFull } = await holdParts(db.work, {
      holder,
      now: at,
      leasedUntil: new Date(at.getTime() + leaseMs),
    });
    // A process with fewer parts than its share looks again in the next round, since another one may end a lease.
    renewMs = isShareFull ? performance.now() + leaseMs / 2 : 0;
    held = parts;
    return held;
  }

  async function round(stopping: AbortSignal): Promise<void> {
    const mine = await hold();
    if (mine.length === 0) return;
    const parts = mine.map(({ id }) => id);
    let [seenId = ""] = mine.map((part) => part.seenId).toSorted();
    let afterId = seenId;
    let indexed = 0;
    for (let looked = lookAt; looked === lookAt && !stopping.aborted; ) {
      const settledBefore = new Date(now().getTime() - settlingMs);
      const recent = await findRecentMessages(db.work, { afterId, settledBefore, limit: lookAt, parts });
      for (const { inboxId, messageCount } of recent.behind) {
        if (!(await indexInbox(inboxId, messageCount, stopping).catch((err) => passOver(inboxId, err)))) return;
        indexed += 1;
      }
      if (recent.settledId !== null && recent.settledId > seenId) {
        seenId = recent.settledId;
        await markIndexed(db.work, holder, parts, seenId);
        held = held.map((part) => (parts.includes(part.id) && part.seenId < seenId ? { ...part, seenId } : part));
      }
      looked = recent.looked;
      afterId = recent.lastId ?? afterId;
    }
    if (indexed > 0) await settleSearchIndex(db.work);
  }

  /** Indexes an inbox. Returns false if the round must end, because the service stops or this process has no part any more. */
  async function indexInbox(inboxId: string, upToSeq: number, stopping: AbortSignal): Promise<boolean> {
    let startedMs = performance.now();
    const fromSeq = await findIndexedSeq(db.work, inboxId);
    const rest = async () => {
      const workedMs = performance.now() - startedMs;
      await pause(workedMs * ((await isBusy()) ? restsWhileBusy : 1), stopping);
      const mayGoOn = !stopping.aborted && (await hold()).length > 0;
      startedMs = performance.now();
      return mayGoOn;
    };
    const reached = await indexMessages({ db: db.work, log, searchWords }, inboxId, fromSeq, upToSeq, rest);
    return reached >= upToSeq && (await rest());
  }

  /**
   * Logs the error of one inbox, so that the others are indexed. A search in that inbox tries again to index it. Throws the error of an
   * outage, which ends the round.
   */
  function passOver(inboxId: string, err: unknown): true {
    if (err instanceof DatabaseUnavailable && !askedTooMuch(err)) throw err;
    log.warn({ err, inbox_id: inboxId }, "inbox not indexed for search: going on with the next");
    return true;
  }

  async function isBusy(): Promise<boolean> {
    const { newestMessageAt, isCarryingOut } = await findActivity(db.work, busyWithinMs);
    return isCarryingOut || (newestMessageAt !== null && now().getTime() - newestMessageAt.getTime() < busyWithinMs);
  }

  return startRounds({
    pauseMs,
    round,
    failed: (err) => log.warn({ err }, "search index not filled; trying again"),
    release: () => releaseParts(db.work, holder, now()),
  });
}
