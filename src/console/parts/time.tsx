import { formatAgo, formatDue, formatFullTime, formatShortTime } from "../format.ts";
import { clock } from "../machine.ts";

const formats = { short: formatShortTime, ago: formatAgo, due: formatDue };

interface TimeProps {
  at: string;
  /** `short` as in "14:05" or "Mon", `ago` as in "4 min ago", `due` as in "in 30 s", for a time that may still come. */
  as?: keyof typeof formats;
}

export function Time({ at, as = "ago" }: TimeProps) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={formatFullTime(date)}>
      {formats[as](date, clock.value)}
    </time>
  );
}
