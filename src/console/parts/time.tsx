import { formatAgo, formatFullTime, formatShortTime } from "../format.ts";
import { clock } from "../machine.ts";

interface TimeProps {
  at: string;
  /** `short` as in "14:05" or "Mon", `ago` as in "4 min ago". */
  as?: "short" | "ago";
}

export function Time({ at, as = "ago" }: TimeProps) {
  const date = new Date(at);
  const format = as === "short" ? formatShortTime : formatAgo;
  return (
    <time dateTime={at} title={formatFullTime(date)}>
      {format(date, clock.value)}
    </time>
  );
}
