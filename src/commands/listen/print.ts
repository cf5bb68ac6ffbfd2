import { oneLine } from "../../standards/text.ts";
import { jsonOf, tellTaken } from "../terminal.ts";
import type { Following } from "./follow.ts";
import type { LoggedEvent } from "./forward.ts";

export interface Printing {
  /** Each event whole, on a line of its own, instead of what a person wants to see of it. */
  json: boolean;
  /** Whoever read what is printed has gone: `head`, say, which has its lines. */
  whenUnread: () => void;
  signal: AbortSignal;
}

/** Prints each event. One is done with when it was handed over to whoever reads. */
export function printer({ json, whenUnread, signal }: Printing): Following["hand"] {
  process.stdout.on("error", whenUnread);
  return async (event) => {
    await tellTaken(json ? jsonOf(event) : `${line(event)}\n`, signal);
    return true;
  };
}

/** The hour here, since the one who looks on sits here; the id comes last, for `--after`. */
function line(event: LoggedEvent): string {
  const at = new Date(event.occurred_at).toLocaleTimeString("en-GB");
  return oneLine(`${at}  ${event.event}${shownMail(event)}  ${event.event_id}`);
}

/** Who wrote what to whom, where an event is about a mail. */
export function shownMail({ message }: LoggedEvent): string {
  return message === undefined ? "" : ` ${message.from} → ${message.to} ${JSON.stringify(message.subject)}`;
}
