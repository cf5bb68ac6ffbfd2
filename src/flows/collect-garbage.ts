/** A collection costs 20 to 70 ms, and what it gives back to the system has to be had anew, page by page. */
const mostPiledUpBytes = 48 << 20;

let leastBytes = 0;

/**
 * Collects garbage when the process has grown by this much since the last collection. Bodies of mail are bytes outside of the heap,
 * of which the collector learns too late: streams that wrote 45 MB a second took 900 MB before it came by itself.
 */
export function collectPiledUp(mostBytes = mostPiledUpBytes): void {
  const residentBytes = process.memoryUsage.rss();
  leastBytes = Math.min(leastBytes, residentBytes);
  if (residentBytes - leastBytes < mostBytes) return;
  Bun.gc(true);
  leastBytes = process.memoryUsage.rss();
}

/** Collects as `collectPiledUp`, after each few of the megabytes that streams read, write and copy. */
export function collectStreamed(bytes: number): void {
  streamedBytes += bytes;
  if (streamedBytes < lookEveryBytes) return;
  streamedBytes = 0;
  collectPiledUp(mostStreamedBytes);
}

let streamedBytes = 0;
const lookEveryBytes = 2 << 20;
const mostStreamedBytes = 16 << 20;
