import { parentPort } from "node:worker_threads";

/** The thread of fair-time.ts. */
parentPort?.on("message", ({ totals, control }: { totals: Float64Array; control: Int32Array }) => {
  for (;;) {
    Atomics.wait(control, 0, 0);
    const startMs = performance.now();
    const cpuMs = spin(10);
    totals[0] = (totals[0] ?? 0) + performance.now() - startMs;
    totals[1] = (totals[1] ?? 0) + cpuMs;
    // A tenth of a core, so that the peer hardly slows down what it is beside.
    Bun.sleepSync(90);
  }
});

/** Uses this much processor time; returns how much it was. */
function spin(ms: number): number {
  const before = process.threadCpuUsage();
  for (;;) {
    const { user, system } = process.threadCpuUsage(before);
    if (user + system >= ms * 1000) return (user + system) / 1000;
  }
}
