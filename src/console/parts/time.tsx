import { clock } from "../machine.ts";
import { agoWords, fullTime, shortTime } from "../words.ts";

interface TimeProps {
  at: string;
  /** `short`, as a list says it; `ago`, as one would say it. */
  as?: "short" | "ago";
}

export function Time({ at, as = "ago" }: TimeProps) {
  const date = new Date(at);
  const words = as === "short" ? shortTime : agoWords;
  return (
    <time dateTime={at} title={fullTime(date)}>
      {words(date, clock.value)}
    </time>
  );
}
