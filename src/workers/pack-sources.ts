import { BlobsAway } from "../blobs/blob-store.ts";
import type { Deps } from "../flows/deps.ts";
import { type PackingDeps, packSources, sweepSegments } from "../flows/pack-sources.ts";
import { holdPacking, markPacked, releasePacking } from "../store/mail/segments.ts";
import { type Rounds, startRounds } from "./rounds.ts";

export interface PackerDeps extends PackingDeps, Pick<Deps, "log"> {}

const pauseMs = 10_000;
/** Longer than the time limits of all requests for one segment. */
const leaseMs = 300_000;

/** Packs older sources into segments in the object store, behind the mail. Only the process with the lease works. A stop waits for the current segment. */
export function startPacker(deps: PackerDeps): Rounds {
  const { db, now, log } = deps;
  const holder = deps.randomBytes(12).toHex();
  let isAway = false;

  const held = () => {
    const at = now();
    return holdPacking(db.work, { holder, now: at, leasedUntil: new Date(at.getTime() + leaseMs) });
  };

  async function round(stopping: AbortSignal): Promise<void> {
    for (;;) {
      const fromId = await held();
      if (fromId === undefined || stopping.aborted) return;
      const nextId = await packSources(deps, fromId);
      if (nextId === undefined) break;
      await markPacked(db.work, holder, fromId, nextId);
    }
    while (!stopping.aborted && (await held()) !== undefined && (await sweepSegments(deps)) > 0);
    if (isAway) log.info("object store is back");
    isAway = false;
  }

  /** Logs the first error of an outage of the store. */
  function failed(err: unknown): void {
    if (!(err instanceof BlobsAway)) log.warn({ err }, "raw mail not packed; trying again");
    else if (!isAway) log.warn({ err }, "object store is away: raw mail stays in the database until it is back");
    isAway = err instanceof BlobsAway;
  }

  return startRounds({ pauseMs, round, failed, release: () => releasePacking(db.work, holder, now()) });
}
