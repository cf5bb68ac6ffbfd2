/**
 * The growth that is worth a collection: it costs 20 to 70 ms, and freed memory has to be requested from the system again, page by page.
 */
const mostPiledUpBytes = 48 << 20;

let leastBytes = 0;

/**
 * Collects garbage if the process has grown by this much since the last collection. Bodies of mail are bytes outside the heap, which
 * the collector counts too late: streams that wrote 45 MB a second took 900 MB before a collection.
 */
export function collectPiledUp(mostBytes = mostPiledUpBytes): void {
  const residentBytes = process.memoryUsage.rss();
  leastBytes = Math.min(leastBytes, residentBytes);
  if (residentBytes - leastBytes < mostBytes) return;
  Bun.gc(true);
  leastBytes = process.memoryUsage.rss();
}

/** Checks whether to collect garbage, after each 2 MiB that streams read, write or copy. */
export function collectStreamed(bytes: number): void {
  streamedBytes += bytes;
  if (streamedBytes < lookEveryBytes) return;
  streamedBytes = 0;
  collectPiledUp(mostStreamedBytes);
}

let streamedBytes = 0;
const lookEveryBytes = 2 << 20;
const mostStreamedBytes = 16 << 20;
