import { setTimeout as sleep } from "node:timers/promises";
import { BlobsAway } from "../blobs/blob-store.ts";
import { DatabaseUnavailable } from "../database/db.ts";
import type { Deps } from "../flows/deps.ts";
import { type PackingDeps, packSources, sweepSegments } from "../flows/pack-sources.ts";
import { holdPacking, markPacked, releasePacking } from "../store/mail/segments.ts";

export interface PackerDeps extends PackingDeps, Pick<Deps, "log"> {}

export interface Packer {
  /** Ends after the current segment. */
  stop(): Promise<void>;
}

const roundMs = 10_000;
/** Longer than the time limits of all requests for one segment. */
const leaseMs = 300_000;

/** Packs older sources into segments in the object store, behind the mail. Only the process with the lease works. */
export function startPacker(deps: PackerDeps): Packer {
  const { db, now, log } = deps;
  const holder = deps.randomBytes(12).toHex();
  const stopping = new AbortController();
  let isAway = false;

  const held = () => {
    const at = now();
    return holdPacking(db.work, { holder, now: at, leasedUntil: new Date(at.getTime() + leaseMs) });
  };

  async function round(): Promise<void> {
    for (;;) {
      const fromId = await held();
      if (fromId === undefined || stopping.signal.aborted) return;
      const nextId = await packSources(deps, fromId);
      if (nextId === undefined) break;
      await markPacked(db.work, holder, fromId, nextId);
    }
    while (!stopping.signal.aborted && (await held()) !== undefined && (await sweepSegments(deps)) > 0);
  }

  /** Logs the first error of an outage. The pool of connections logs an outage of the database itself. */
  function failed(err: unknown): void {
    if (err instanceof DatabaseUnavailable) return;
    if (!(err instanceof BlobsAway)) log.warn({ err }, "raw mail not packed; trying again");
    else if (!isAway) log.warn({ err }, "object store is away: raw mail stays in the database until it is back");
    isAway = err instanceof BlobsAway;
  }

  function well(): void {
    if (isAway) log.info("object store is back");
    isAway = false;
  }

  const pause = () => sleep(roundMs, undefined, { signal: stopping.signal }).catch(() => undefined);

  async function work(): Promise<void> {
    for (await pause(); !stopping.signal.aborted; await pause()) await round().then(well, failed);
    await releasePacking(db.work, holder, now()).catch(() => undefined);
  }

  const ended = work();
  return {
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}
