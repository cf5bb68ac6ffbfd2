import type { Registry } from "./registry.ts";

/** Wrappers and counters of traces. */
export interface TracingWatch {
  /** Makes a span of each run of a step of the work on a mail. */
  step<Given extends unknown[], Result>(
    name: "parse" | "commit",
    work: (...given: Given) => Promise<Result>,
  ): (...given: Given) => Promise<Result>;
  /** Counts spans that were sent or dropped. */
  spans(outcome: "sent" | "dropped", spans: number): void;
}

export const unwatchedTracing: TracingWatch = {
  step: (_name, work) => work,
  spans: () => undefined,
};

export function watchTracing(metrics: Registry): TracingWatch {
  const spans = metrics.counter(
    "inboxd_trace_spans_total",
    "Spans of traces (OTEL_EXPORTER_OTLP_ENDPOINT), by outcome: sent (the collector took them), dropped (it did not, or too many waited)",
    ["outcome"],
  );
  const counters = { sent: spans({ outcome: "sent" }), dropped: spans({ outcome: "dropped" }) };
  return { ...unwatchedTracing, spans: (outcome, count) => counters[outcome].add(count) };
}
