/** The processor's time of this thread so far: unlike the clock it tells what the code costs also on a busy machine. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
