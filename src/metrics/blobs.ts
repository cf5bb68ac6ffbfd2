import { blobOperations, type ObserveBlobs } from "../blobs/blob-store.ts";
import type { Registry } from "./registry.ts";

/** Measures of the object store. */
export interface BlobsWatch {
  /** Counts requests to the object store. */
  blobs: ObserveBlobs;
}

export const unwatchedBlobs: BlobsWatch = { blobs: () => undefined };

export function watchBlobs(metrics: Registry): BlobsWatch {
  const requests = metrics.counter(
    "inboxd_blob_requests_total",
    "Requests to the object store (BLOBS), by operation (write, size, read, remove) and outcome (done, failed)",
    ["operation", "outcome"],
  );
  const counted = (outcome: string) =>
    new Map(blobOperations.map((operation) => [operation, requests({ operation, outcome })]));
  const [done, failed] = [counted("done"), counted("failed")];
  return { blobs: (operation, isDone) => (isDone ? done : failed).get(operation)?.add() };
}
