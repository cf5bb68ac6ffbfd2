import type { InboxdError } from "./failures.ts";

export interface Attempted {
  error: InboxdError;
  /** How often it was tried again already. */
  retries: number;
  /** How long was waited of our own accord. */
  waitedMs: number;
}

const firstWaitMs = 500;
/** So long is waited in all where the server names no time. */
const mostWaitMs = 30_000;
const mostRetryAfterSeconds = 60;

const passing: ReadonlySet<number> = new Set([0, 429, 500, 502, 503, 504]);

/** What may be answered otherwise later. */
export function mayPass({ status, code }: InboxdError): boolean {
  return passing.has(status) || code === "idempotency_in_progress";
}

/** Asked twice, these are done once. A POST is, where a key says which one it is. */
export function isRepeatable(method: string, idempotencyKey: string | undefined): boolean {
  return idempotencyKey !== undefined || ["GET", "HEAD", "PUT", "DELETE"].includes(method);
}

/**
 * How long to wait before the next attempt; undefined where there shall be none. Full jitter, so that those who failed together
 * don't come again together; after a time that the server names, too.
 */
export function waitMs({ error, retries, waitedMs }: Attempted, random: () => number): number | undefined {
  if (!mayPass(error)) return undefined;
  const { retryAfterSeconds } = error;
  if (retryAfterSeconds !== undefined) {
    return retryAfterSeconds > mostRetryAfterSeconds ? undefined : retryAfterSeconds * 1000 + random() * firstWaitMs;
  }
  const ms = random() * Math.min(firstWaitMs * 2 ** retries, mostWaitMs);
  return waitedMs + ms > mostWaitMs ? undefined : ms;
}

/** Whether that wait counts as our own. */
export function isOwnWait({ retryAfterSeconds }: InboxdError): boolean {
  return retryAfterSeconds === undefined;
}
