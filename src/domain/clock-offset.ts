/** A reading of another clock, with our own clock before the request and after the response. */
export interface ClockReading {
  /** The other clock in whole milliseconds, rounded down. */
  readMs: number;
  requestedMs: number;
  respondedMs: number;
}

/**
 * The offset of another clock against ours after a further reading. The other clock was read between request and response, so a reading
 * gives bounds, and a slow response gives wide ones. An offset within the bounds is kept, so that it does not jitter. Any other moves to the
 * nearer bound.
 */
export function nextOffset(offsetMs: number | undefined, { readMs, requestedMs, respondedMs }: ClockReading): number {
  const least = readMs - respondedMs;
  const most = readMs + 1 - requestedMs;
  if (offsetMs === undefined) return (least + most) / 2;
  return Math.min(Math.max(offsetMs, least), most);
}
