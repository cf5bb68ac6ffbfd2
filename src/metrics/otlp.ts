import { within } from "../primitives/within.ts";
import type { WebhookClient } from "../webhook/client.ts";
import type { Span } from "./spans.ts";

export interface OtlpDeps {
  client: Pick<WebhookClient, "post">;
  /** The address of traces at the collector (OTLP/HTTP §Request). */
  url: string;
  headers: Readonly<Record<string, string>>;
  resource: Span["attributes"];
  now: () => Date;
  /** Called with the number of spans that the collector has taken, or that were dropped. */
  counted: (outcome: "sent" | "dropped", spans: number) => void;
}

const everyMs = 1_000;
const mostInBatch = 512;
/** While this many spans wait, further ones are dropped. */
const mostWaiting = 4_096;
const stopMs = 2_000;

/** Sends spans to a collector in the background, one batch at a time. No work waits for it. */
export function otlpExport({ client, url, headers, resource, now, counted }: OtlpDeps) {
  const waiting: Span[] = [];
  let sending: Promise<void> | undefined;
  const timer = setInterval(send, everyMs);
  timer.unref();

  function send(): void {
    sending ??= sendAll().finally(() => {
      sending = undefined;
    });
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, mostInBatch);
      const body = JSON.stringify(tracesOf(batch, resource, now().getTime() - performance.now()));
      // A new connection, because the collector may have closed a kept one.
      const request = { url, headers: { ...headers, "content-type": "application/json" }, body, fresh: true };
      const reply = await client.post(request).catch(() => undefined);
      const isTaken = reply?.kind === "answered" && reply.status >= 200 && reply.status < 300;
      counted(isTaken ? "sent" : "dropped", batch.length);
    }
  }

  return {
    add(span: Span): void {
      if (waiting.length < mostWaiting) waiting.push(span);
      else counted("dropped", 1);
      if (waiting.length >= mostInBatch) send();
    },
    /** Sends the spans that wait, for a short time at most. */
    async stop(): Promise<void> {
      clearInterval(timer);
      send();
      await within(stopMs, Promise.resolve(sending), () => undefined);
    },
  };
}

const kinds: Readonly<Record<Span["kind"], number>> = { internal: 1, server: 2, client: 3 };

/** An ExportTraceServiceRequest (OTLP §JSON Protobuf Encoding). `offsetMs` is what the times of the spans lack to those of the clock. */
export function tracesOf(spans: readonly Span[], resource: Span["attributes"], offsetMs: number) {
  // Nanoseconds are text, because those of today have more digits than a number.
  const nanos = (ms: number) => `${Math.round((offsetMs + ms) * 1_000)}000`;
  const shown = spans.map(({ traceId, spanId, parentId, name, kind, attributes, startMs, endMs = startMs, fault }) => ({
    traceId,
    spanId,
    parentSpanId: parentId,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: listed(attributes),
    status: fault === undefined ? {} : { code: 2, message: fault },
  }));
  const scopeSpans = [{ scope: { name: "inboxd" }, spans: shown }];
  return { resourceSpans: [{ resource: { attributes: listed(resource) }, scopeSpans }] };
}

function listed(attributes: Span["attributes"]) {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "string" ? { stringValue: value } : { intValue: String(value) },
  }));
}
