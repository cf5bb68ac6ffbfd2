/**
 * The longest that this thread was at work without a pause while something was done. Unlike a clock it does not count what the
 * machine does for others, so a bound of it can be as tight as it is meant.
 */
export async function busiest<Result>(work: () => Promise<Result>): Promise<{ result: Result; busyMs: number }> {
  let last = process.threadCpuUsage();
  let busyMs = 0;
  function look(): void {
    const { user, system } = process.threadCpuUsage(last);
    busyMs = Math.max(busyMs, (user + system) / 1000);
    last = process.threadCpuUsage();
  }
  const watch = setInterval(look, 5);
  try {
    const result = await work();
    look();
    return { result, busyMs };
  } finally {
    clearInterval(watch);
  }
}
