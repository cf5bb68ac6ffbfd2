import type { Config } from "../config.ts";
import { otlpExport } from "../metrics/otlp.ts";
import { tracer } from "../metrics/spans.ts";
import { type TracedParts, traced } from "../metrics/traces.ts";
import { version } from "../version.ts";
import { webhookClient } from "../webhook/client.ts";
import type { Closers } from "./opening.ts";

/** The time for the answer of the collector (OpenTelemetry §OTEL_EXPORTER_OTLP_TIMEOUT). */
const timeoutMs = 10_000;

/** Adds spans to the parts of the service. Without a collector it returns the parts as they are, so that traces cost nothing. */
export function withTraces(
  parts: TracedParts,
  { otlpEndpoint, otlpHeaders: headers, otelServiceName }: Config,
  opened: Closers,
): TracedParts {
  if (otlpEndpoint === undefined) return parts;
  const { now, randomBytes } = parts.deps;
  const client = webhookClient({ allowPrivate: true, version, timeoutMs });
  opened.push(client.close);
  const resource = {
    "service.name": otelServiceName,
    "service.version": version,
    // Each process of several is an instance.
    "service.instance.id": randomBytes(8).toHex(),
  };
  const url = `${otlpEndpoint}/v1/traces`;
  const spans = otlpExport({ client, url, headers, resource, now, counted: parts.watch.spans });
  opened.push(spans.stop);
  return traced(parts, tracer(randomBytes, spans.add));
}
