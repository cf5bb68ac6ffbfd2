/** The time and the time zone of the reader. */
export interface Calendar {
  now: Date;
  /** A name of the time zone database. */
  timeZone: string;
}

/** An instant in few letters for a table: "14:05" of today, "12 Mar" of this year, "12 Mar 2025" of another. */
export function shortTime(instant: string | null, { now, timeZone }: Calendar): string {
  const date = dateOf(instant);
  if (date === undefined) return instant ?? "";
  const [then, today] = [partsOf(date, timeZone), partsOf(now, timeZone)];
  const day = `${then.day} ${then.month}`;
  if (then.year !== today.year) return `${day} ${then.year}`;
  return day === `${today.day} ${today.month}` ? `${then.hour}:${then.minute}` : day;
}

/** An instant in the reader's time zone: "12 Mar 2026, 14:05". */
export function fullTime(instant: string | null, { timeZone }: Calendar): string {
  const date = dateOf(instant);
  if (date === undefined) return instant ?? "";
  const { day, month, year, hour, minute } = partsOf(date, timeZone);
  return `${day} ${month} ${year}, ${hour}:${minute}`;
}

/** The date of an instant. Undefined for an invalid one, which another server may send. */
function dateOf(instant: string | null): Date | undefined {
  const date = new Date(instant ?? "");
  return Number.isNaN(date.getTime()) ? undefined : date;
}

function partsOf(date: Date, timeZone: string): Partial<Record<string, string>> {
  return Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(date)
      .map(({ type, value }) => [type, value]),
  );
}

/** Caches formats, because making one takes longer than using it a hundred times. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const kept = formats.get(timeZone);
  if (kept !== undefined) return kept;
  const made = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  formats.set(timeZone, made);
  return made;
}
