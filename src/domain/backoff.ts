/**
 * When to try again: webhooks by contract §10.4, the relay by §5.6, parsing soon.
 */

/** 30 s × 6^(n−1): five retries over fourteen hours, long enough to outlive a night's outage. */
export const webhookScheduleSeconds: readonly number[] = [30, 180, 1080, 6480, 38_880];

/**
 * When to deliver again after attempt number `attempt` (from 1) has failed; `undefined` when it was the last.
 * Each time is moved by up to a tenth either way, so that what failed together doesn't come back together.
 * `retryAfter` is what a 429 or 503 said. It can only put the attempt off: a receiver that says "0" would
 * otherwise burn all of its retries in a second and lose the event.
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

/** The instant that a Retry-After names (RFC 9110 §10.2.3: seconds or an HTTP date), at most a day ahead. */
export function retryAfterAt(text: string, now: Date): Date | undefined {
  const value = text.trim();
  const atMs = /^\d{1,15}$/.test(value) ? now.getTime() + Number(value) * 1000 : httpDateMs(value, now);
  if (atMs === undefined) return undefined;
  return new Date(Math.min(atMs, now.getTime() + dayMs));
}

/** 1, 5, 15 and 30 minutes; the last goes on for as long as the mail may wait. */
export const relayScheduleSeconds: readonly number[] = [60, 300, 900, 1800];

/**
 * When to try the relay again after attempt number `attempt` (from 1) met a passing fault; after the schedule's end, its
 * last pause again. `undefined` once the mail would be older than `maxQueueHours`. No jitter: relays see a queue, not a crowd.
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

/**
 * When to try again to parse a mail that was taken in already: 2 s, 4 s, 8 s … five minutes, and never given up. Its sender thinks
 * that it has arrived.
 */
export function nextParseAttemptAt(attempt: number, now: Date): Date {
  return new Date(now.getTime() + Math.min(2 ** attempt, 300) * 1000);
}

const dayMs = 86_400_000;
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** RFC 9110 §5.6.7: a recipient must accept all three forms, and all three are UTC. */
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

/** A year of two digits that seems over 50 years ahead is in the past (RFC 9110 §5.6.7). */
function nearestYear(lastTwo: number, now: Date): number {
  const thisYear = now.getUTCFullYear();
  const year = thisYear - (thisYear % 100) + lastTwo;
  return year > thisYear + 50 ? year - 100 : year;
}
