/** A reading of another clock, with the times of our own clock before the request and after the response. */
export interface ClockReading {
  /** The other clock in whole milliseconds, rounded down. */
  readMs: number;
  requestedMs: number;
  respondedMs: number;
}

/**
 * The offset of another clock from ours, after one more reading. The other clock was read between request and response, so a reading gives
 * a lower and an upper bound of the offset; they are far apart after a slow response. The old offset is kept if it is within the bounds, so
 * that it does not jitter. Otherwise it moves to the nearer bound.
 */
export function nextOffset(offsetMs: number | undefined, { readMs, requestedMs, respondedMs }: ClockReading): number {
  const least = readMs - respondedMs;
  const most = readMs + 1 - requestedMs;
  if (offsetMs === undefined) return (least + most) / 2;
  return Math.min(Math.max(offsetMs, least), most);
}
