const day = 86_400_000;

// Dates and times are those of the reader's own locale.
const time = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const withSeconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const wholeDate = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const number = new Intl.NumberFormat("en");

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
  const words =
    away < 60
      ? `${away} s`
      : away < 3_600
        ? `${Math.round(away / 60)} min`
        : away === 3_600
          ? "1 hour"
          : `${Math.floor(away / 3_600)} h ${Math.floor((away % 3_600) / 60)} min`;
  return seconds < 0 ? `${words} ago` : `in ${words}`;
}

export const formatClock = (at: Date): string => withSeconds.format(at);
export const formatFullTime = (at: Date): string => whole.format(at);
export const formatDay = (at: Date): string => dayAndMonth.format(at);
export const formatWeekday = (at: Date): string => weekday.format(at);
export const formatNumber = (value: number): string => number.format(value);

export function startOfDay(at: Date): Date {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate());
}

/** "1 inbox", "12 inboxes". */
export function formatCount(count: number, one: string, many = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : many}`;
}

export function formatSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const inKilobytes = bytes / 1_000;
  return inKilobytes < 1_000 ? `${Math.round(inKilobytes)} kB` : `${(inKilobytes / 1_000).toFixed(1)} MB`;
}

export function formatLatency(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
