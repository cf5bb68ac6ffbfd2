/**
 * The longest time for which this thread worked without a pause during `work`, in processor time, which does not depend on other
 * work on the machine.
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
