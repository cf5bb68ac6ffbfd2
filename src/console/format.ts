const day = 86_400_000;

// Dates and times are those of the reader's own locale.
const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const withSeconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const month = new Intl.DateTimeFormat(undefined, { month: "short" });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const wholeDate = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const number = new Intl.NumberFormat("en");
const rate = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** The time if `at` is today, the weekday if it is one of the six days before, else the date. */
export function formatShortTime(at: Date, now: Date): string {
  if (startOfDay(at).getTime() === startOfDay(now).getTime()) return time.format(at);
  if (startOfDay(now).getTime() - startOfDay(at).getTime() < 7 * day && at < now) return weekday.format(at);
  return at.getFullYear() === now.getFullYear() ? dayAndMonth.format(at) : wholeDate.format(at);
}

/** A time that is over, such as "just now" or "4 min ago". One that seems to come is now: a clock here is behind that of the service. */
export function formatAgo(at: Date, now: Date): string {
  return formatDue(at < now ? at : now, now);
}

/** A time that may still come, such as "in 30 s" or "4 min ago"; from a day on, the date and the time. */
export function formatDue(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000);
  const away = Math.abs(seconds);
  if (away < 5) return "just now";
  if (away >= 86_400) return `${formatShortTime(at, now)}, ${time.format(at)}`;
  return seconds < 0 ? `${formatSpan(away)} ago` : `in ${formatSpan(away)}`;
}

/** A time span, such as "40 s", "4 min", "2 h 5 min" or, from two days on, "3 days". */
export function formatSpan(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds === 3_600) return "1 hour";
  if (seconds >= 2 * 86_400) return `${Math.floor(seconds / 86_400)} days`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

export const formatClock = (at: Date): string => withSeconds.format(at);
export const formatFullTime = (at: Date): string => whole.format(at);
export const formatDay = (at: Date): string => dayAndMonth.format(at);
export const formatMonth = (at: Date): string => month.format(at);
export const formatWeekday = (at: Date): string => weekday.format(at);
export const formatNumber = (value: number): string => number.format(value);

export function startOfDay(at: Date): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate());
}

/** "1 inbox", "12 inboxes". */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : many}`;
}

/** A small number with one decimal, such as "0.3"; from 10 on a whole one. */
export function formatRate(value: number): string {
  return value === 0 || value >= 10 ? number.format(Math.round(value)) : rate.format(Math.max(0.1, value));
}

export function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const inKilobytes = bytes / 1_000;
  return inKilobytes < 1_000 ? `${Math.round(inKilobytes)} kB` : `${(inKilobytes / 1_000).toFixed(1)} MB`;
}

export function formatLatency(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** A time as a field of the type `datetime-local` has it: in the browser's zone, to the minute. */
export function localTime(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
