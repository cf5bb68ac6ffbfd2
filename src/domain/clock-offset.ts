/** One look at another clock: what it said, and what our own count was before it was asked and when it had answered. */
export interface ClockReading {
  /** In whole milliseconds, what is over being cut off. */
  saidMs: number;
  askedMs: number;
  answeredMs: number;
}

/**
 * How far another clock is ahead of our own count after one more look at it. It spoke at some moment between question and answer,
 * so a look gives bounds, the wider the longer the answer took. An offset within them is kept, so a slow answer teaches
 * nothing wrong and the clock doesn't jitter; one that is outside moves to the nearer bound.
 */
export function nextOffset(offsetMs: number | undefined, { saidMs, askedMs, answeredMs }: ClockReading): number {
  const least = saidMs - answeredMs;
  const most = saidMs + 1 - askedMs;
  if (offsetMs === undefined) return (least + most) / 2;
  return Math.min(Math.max(offsetMs, least), most);
}
