/** The functions that compute the times of retries: of webhooks (contract §10.4), of relayed mail (§5.6), and of parsing a mail. */

/** The pauses before the retries of a webhook, 30 s × 6^(n−1): five retries over thirteen hours, which covers an outage of one night. */
export const webhookScheduleSeconds: readonly number[] = [30, 180, 1080, 6480, 38_880];

/**
 * The time of the next delivery after attempt number `attempt` (from 1) failed; `undefined` after the last. Each pause varies by up to 10 %,
 * so that deliveries that failed together are not retried together. `retryAfter` is the Retry-After field of a 429 or 503. It can only
 * postpone the attempt: with "0" a receiver would otherwise use up all retries in a second and lose the event.
 */
export function nextWebhookAttemptAt(
  attempt: number,
  now: Date,
  random: () => number,
  scheduleSeconds: readonly number[] = webhookScheduleSeconds,
  retryAfter?: string | undefined,
): Date | undefined {
  const seconds = scheduleSeconds[attempt - 1];
  if (seconds === undefined) return undefined;
  const scheduledMs = now.getTime() + Math.round(seconds * 1000 * (0.9 + 0.2 * random()));
  const askedMs = retryAfter === undefined ? 0 : (retryAfterAt(retryAfter, now)?.getTime() ?? 0);
  return new Date(Math.max(scheduledMs, askedMs));
}

/** The instant in a Retry-After field (RFC 9110 §10.2.3: seconds or an HTTP date), but at most a day from now. `undefined` if invalid. */
export function retryAfterAt(text: string, now: Date): Date | undefined {
  const value = text.trim();
  const atMs = /^\d{1,15}$/.test(value) ? now.getTime() + Number(value) * 1000 : httpDateMs(value, now);
  if (atMs === undefined) return undefined;
  return new Date(Math.min(atMs, now.getTime() + dayMs));
}

/** The pauses before the retries of a relayed mail: 1, 5, 15 and 30 minutes. The last pause is repeated. */
export const relayScheduleSeconds: readonly number[] = [60, 300, 900, 1800];

/**
 * The time of the next attempt to relay a mail, after attempt number `attempt` (from 1) met a temporary fault. The last pause is repeated.
 * `undefined` if the mail would be older than `maxQueueHours` by then. The pauses do not vary at random, because a relay gets the mail of
 * one queue, not of many clients at once.
 */
export function nextRelayAttemptAt(
  attempt: number,
  firstAt: Date,
  now: Date,
  maxQueueHours: number,
  scheduleSeconds: readonly number[] = relayScheduleSeconds,
): Date | undefined {
  const seconds = scheduleSeconds[attempt - 1] ?? scheduleSeconds.at(-1) ?? 1800;
  const dueMs = now.getTime() + seconds * 1000;
  return dueMs > firstAt.getTime() + maxQueueHours * 3_600_000 ? undefined : new Date(dueMs);
}

/** The time of the next attempt to parse an accepted mail: after 2 s, 4 s, 8 s … at most five minutes. There is no last attempt. */
export function nextParseAttemptAt(attempt: number, now: Date): Date {
  return new Date(now.getTime() + Math.min(2 ** attempt, 300) * 1000);
}

const dayMs = 86_400_000;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Parses the three forms of an HTTP date, all in UTC (RFC 9110 §5.6.7). */
function httpDateMs(text: string, now: Date): number | undefined {
  const fixdate = /^[A-Z][a-z]{2}, (?<day>\d\d) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) GMT$/;
  const rfc850 = /^[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) GMT$/;
  const asctime = /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/;
  const parts = (fixdate.exec(text) ?? rfc850.exec(text) ?? asctime.exec(text))?.groups;
  if (!parts) return undefined;
  const { day = "", month = "", year = "", time = "" } = parts;
  const [hours = 0, minutes = 0, seconds = 0] = time.split(":").map(Number);
  const fullYear = year.length === 2 ? nearestYear(Number(year), now) : Number(year);
  const atMs = Date.UTC(fullYear, months.indexOf(month), Number(day), hours, minutes, seconds);
  return months.includes(month) ? atMs : undefined;
}

/** The full year for its last two digits. A year more than 50 years ahead is read as one of the century before (RFC 9110 §5.6.7). */
function nearestYear(lastTwo: number, now: Date): number {
  const thisYear = now.getUTCFullYear();
  const year = thisYear - (thisYear % 100) + lastTwo;
  return year > thisYear + 50 ? year - 100 : year;
}
