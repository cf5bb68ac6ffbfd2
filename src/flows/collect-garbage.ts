/**
 * The growth of the process after which it collects garbage. It is large, because a collection takes 20 to 70 ms, and the freed memory has
 * to be requested from the system again, page by page.
 */
const mostPiledUpBytes = 48 << 20;

let leastBytes = 0;

/**
 * Collects garbage if the process has grown by `mostBytes` since the last collection. Bodies of mail are bytes outside the JavaScript heap,
 * which the runtime's own collector notices too late: without this, streams that wrote 45 MB a second grew to 900 MB.
 */
export function collectPiledUp(mostBytes = mostPiledUpBytes): void {
  const residentBytes = process.memoryUsage.rss();
  leastBytes = Math.min(leastBytes, residentBytes);
  if (residentBytes - leastBytes < mostBytes) return;
  Bun.gc(true);
  leastBytes = process.memoryUsage.rss();
}

/** Counts bytes that streams read, write or copy. After each 2 MiB, collects garbage if the process has grown by 16 MiB. */
export function collectStreamed(bytes: number): void {
  streamedBytes += bytes;
  if (streamedBytes < lookEveryBytes) return;
  streamedBytes = 0;
  collectPiledUp(mostStreamedBytes);
}

let streamedBytes = 0;
const lookEveryBytes = 2 << 20;
const mostStreamedBytes = 16 << 20;
