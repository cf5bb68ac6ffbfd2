import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseUnavailable } from "../database/db.ts";

/** Work in the background that is done again and again. */
export interface Rounds {
  /** Ends after what is being done. */
  stop(): Promise<void>;
}

interface Work {
  /** The time between two rounds, and before the first. */
  pauseMs: number;
  /** Work that ends soon once `stopping` is aborted. */
  round(stopping: AbortSignal): Promise<void>;
  /** Logs an error that has ended a round. An outage of the database is none: the pool of connections logs it itself, once. */
  failed(err: unknown): void;
  /** Called at the end, for a lease. */
  release?(): Promise<unknown>;
}

/** Does one round after the other. */
export function startRounds({ pauseMs, round, failed, release }: Work): Rounds {
  const ending = new AbortController();
  const stopping = ending.signal;

  async function work(): Promise<void> {
    for (await pause(pauseMs, stopping); !stopping.aborted; await pause(pauseMs, stopping)) {
      await round(stopping).catch((err: unknown) => {
        if (!(err instanceof DatabaseUnavailable)) failed(err);
      });
    }
    await release?.().catch(() => undefined);
  }

  const ended = work();
  return {
    async stop() {
      ending.abort();
      await ended;
    },
  };
}

/** Waits for this time, or until `stopping` is aborted. */
export async function pause(ms: number, stopping: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: stopping }).catch(() => undefined);
}
