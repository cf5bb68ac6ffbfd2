import { type BlobsWatch, unwatchedBlobs, watchBlobs } from "./blobs.ts";
import { type DnsWatch, unwatchedDns, watchDns } from "./dns.ts";
import { type ReadingWatch, unwatchedReading, watchReading } from "./reading.ts";
import { type ReceivingWatch, unwatchedReceiving, watchReceiving } from "./receiving.ts";
import type { Registry } from "./registry.ts";
import { type SendingWatch, unwatchedSending, watchSending } from "./sending.ts";
import { type TracingWatch, unwatchedTracing, watchTracing } from "./tracing.ts";

/**
 * Wrappers and observers that measure the parts of the service. A wrapper returns a function or object that does the same and is measured.
 */
export interface Watch extends ReceivingWatch, SendingWatch, ReadingWatch, DnsWatch, BlobsWatch, TracingWatch {}

/** Measures nothing, and returns each part unchanged. Used if metrics are off. */
export const unwatched: Watch = {
  ...unwatchedReceiving,
  ...unwatchedSending,
  ...unwatchedReading,
  ...unwatchedDns,
  ...unwatchedBlobs,
  ...unwatchedTracing,
};

export function watch(metrics: Registry): Watch {
  return {
    ...watchReceiving(metrics),
    ...watchSending(metrics),
    ...watchReading(metrics),
    ...watchDns(metrics),
    ...watchBlobs(metrics),
    ...watchTracing(metrics),
  };
}
