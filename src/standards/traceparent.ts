/** A span of a trace, as the header field `traceparent` names it (W3C Trace Context §3.2). */
export interface SpanName {
  traceId: string;
  spanId: string;
}

/** Parses `traceparent`: the caller's span, and whether the caller records it. Undefined for a missing or malformed field. */
export function parseTraceParent(field: string | null): (SpanName & { isSampled: boolean }) | undefined {
  const [, traceId, spanId, flags = ""] = shape.exec(field ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Ids of zeros and version ff are forbidden. Later versions than 00 may have more behind the flags. */
const shape = /^(?!ff|00.{54})[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** The value of `traceparent` for a span that is recorded. */
export function writeTraceParent({ traceId, spanId }: SpanName): string {
  return `00-${traceId}-${spanId}-01`;
}
