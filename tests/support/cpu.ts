/** The processor's time of this process so far: unlike the clock it tells what the code costs also on a busy machine. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
