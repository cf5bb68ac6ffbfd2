import type { InboxdError } from "./errors.ts";

export interface Attempted {
  error: InboxdError;
  /** The number of retries so far. */
  retries: number;
  /** The sum of this client's own pauses so far. */
  waitedMs: number;
}

const firstWaitMs = 500;
/** The limit on the sum of a call's own pauses. */
const mostWaitMs = 30_000;
const mostRetryAfterSeconds = 60;

/** Whether a later attempt may succeed. */
export function mayPass({ status, code }: InboxdError): boolean {
  // A page of 2xx in place of JSON may be the maintenance page of a proxy.
  const isForeignPage = code === "unreadable_answer" && status < 300;
  return [0, 429, 500, 502, 503, 504].includes(status) || code === "idempotency_in_progress" || isForeignPage;
}

/** Whether a call has its effect only once if it arrives twice. A POST needs an idempotency key for that. */
export function isRepeatable(method: string, idempotencyKey: string | undefined): boolean {
  return idempotencyKey !== undefined || ["GET", "HEAD", "PUT", "DELETE"].includes(method);
}

/**
 * The pause before the next attempt; undefined if there must be none. It is random, and after a `Retry-After` it has a random part, so that
 * clients that failed together do not come back together.
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
