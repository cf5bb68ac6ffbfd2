/** The processor time of this thread so far; unlike wall-clock time it does not depend on other work on the machine. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
