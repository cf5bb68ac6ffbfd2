import type { MailWaits } from "../flows/read/wait-for-mail.ts";
import { quickBounds } from "./bounds.ts";
import type { Registry } from "./registry.ts";

/** A wait that is counted by its end, and timed from the mail that ended it. */
export type WatchWait = (wait: MailWaits["wait"], now: () => Date) => MailWaits["wait"];

export function watchedWait(metrics: Registry): WatchWait {
  const ends = metrics.counter(
    "inboxd_waits_total",
    "Waits for mail that ended: found, timeout (the service stopped counts too), gone (nobody waited any more)",
    ["outcome"],
  );
  const outcomes = {
    found: ends({ outcome: "found" }),
    timeout: ends({ outcome: "timeout" }),
    gone: ends({ outcome: "gone" }),
  };
  const woke = metrics.histogram(
    "inboxd_wait_wake_seconds",
    "From a mail to the answer of who was waiting for it",
    quickBounds,
    [],
  )({});
  return (wait, now) => async (request) => {
    const beganAt = now().toISOString();
    const result = await wait(request);
    outcomes[result.end === "stopping" ? "timeout" : result.end].add();
    // What was there before is no measure of how soon a mail is told.
    if (result.end === "found" && result.message.createdAt > beganAt) {
      woke.observe(Math.max(0, now().getTime() - Date.parse(result.message.createdAt)) / 1000);
    }
    return result;
  };
}
