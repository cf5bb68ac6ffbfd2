import type { EndReason } from "../flows/events/open-streams.ts";
import type { Counter, Registry } from "./registry.ts";

/** Told by streams of what they do. */
export interface StreamObserver {
  sent?(): void;
  feedRead?(): void;
  closed?(reason: EndReason | "left"): void;
}

const reasons = ["left", "shutting_down", "unauthorized", "slow", "expired"] as const;

export function streamObserver(metrics: Registry): StreamObserver {
  const sent = metrics.counter("inboxd_stream_events_total", "Events that were written to streams", [])({});
  const reads = metrics.counter(
    "inboxd_feed_reads_total",
    "Statements that looked for what is new in the logs that are followed",
    [],
  )({});
  const closes = metrics.counter(
    "inboxd_stream_closes_total",
    "Streams that are over: left (by the client), shutting_down, unauthorized (its key was revoked), slow (it took less than 64 KiB in a minute while more lay there), expired (its token)",
    ["reason"],
  );
  const closed = Object.fromEntries(reasons.map((reason) => [reason, closes({ reason })])) as Record<
    (typeof reasons)[number],
    Counter
  >;
  return {
    sent: () => sent.add(),
    feedRead: () => reads.add(),
    closed: (reason) => closed[reason].add(),
  };
}
