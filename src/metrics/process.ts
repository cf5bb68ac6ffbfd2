import type { Counter, Registry } from "./registry.ts";

export interface ProcessFacts {
  version: string;
  engine: string;
  now: () => Date;
}

/**
 * Measures the memory and processor time of this process, and the delay of its event loop. Returns a function that stops the measuring of
 * the delay.
 */
export function watchProcess(metrics: Registry, { version, engine, now }: ProcessFacts): () => void {
  const one = (read: () => number) => () => [{ value: read() }];
  const startedAtSeconds = now().getTime() / 1000 - process.uptime();
  metrics.gauge(
    "inboxd_build_info",
    "The running version, as labels. The value is always 1",
    () => [{ labels: { version, bun: Bun.version, engine }, value: 1 }],
    "same",
  );
  metrics.gauge(
    "inboxd_processes",
    "The running processes of this start of the service (PROCESSES)",
    one(() => 1),
    "sum",
  );
  metrics.gauge(
    "process_start_time_seconds",
    "The start of the process, in Unix time; of several, the last start",
    one(() => startedAtSeconds),
    "most",
  );
  watchUse(metrics);

  const lag = metrics.histogram(
    "inboxd_event_loop_lag_seconds",
    `Delay of a timer that is due every ${everyMs} ms. All other work is delayed at least as much`,
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    [],
  )({});
  let dueMs = performance.now() + everyMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lag.observe(Math.max(0, nowMs - dueMs) / 1000);
    dueMs = nowMs + everyMs;
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * Measures the memory and processor time of this process. Returns the counter of processes that were started again, which only the parent
 * of several processes counts.
 */
export function watchUse(metrics: Registry): { restarted: Counter } {
  metrics.gauge(
    "process_resident_memory_bytes",
    "Resident memory of the process",
    () => [{ value: process.memoryUsage.rss() }],
    "sum",
  );
  metrics.gauge(
    "process_cpu_seconds_total",
    "Processor time, user and system",
    () => [{ value: cpuSeconds() }],
    "counter",
  );
  const restarts = metrics.counter(
    "inboxd_process_restarts_total",
    "Processes that ended by themselves and were started again (PROCESSES)",
    [],
  );
  return { restarted: restarts({}) };
}

const everyMs = 500;

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
