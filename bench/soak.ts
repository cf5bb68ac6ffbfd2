/**
 * `bun run soak [--minutes N] [--database embedded|postgres]`: mixed load at half of what the machine can do just now, and how
 * memory, files, database connections and latencies go meanwhile, with their slopes.
 */
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { leaveNothing } from "../scripts/leave-nothing.ts";
import { startPostgres } from "../tests/support/postgres.ts";
import { newOperations, type Operation } from "./soak/operations.ts";
import { slopePerHour } from "./soak/slope.ts";
import { percentile } from "./support/load.ts";
import { startServiceProcess } from "./support/service.ts";

leaveNothing();
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    database: { type: "string", default: "embedded" },
  },
});
const minutes = Number(values.minutes);
if (!(minutes > 0) || !["embedded", "postgres"].includes(values.database)) {
  console.error("Cannot soak: --minutes must be a number above 0, and --database embedded or postgres");
  process.exit(2);
}

const workers = 8;
const sampleMs = 5000;
const calibrationMs = 10_000;

await using cleanups = new AsyncDisposableStack();
const postgres = values.database === "postgres" ? await startPostgres() : undefined;
if (postgres !== undefined) cleanups.defer(() => postgres.remove());
const receiver = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
cleanups.defer(() => receiver.stop(true));
const service = await startServiceProcess({
  ...(postgres !== undefined && { DATABASE_URL: postgres.url("postgres") }),
  WEBHOOK_URL: `http://127.0.0.1:${receiver.port}/hook`,
});
cleanups.defer(() => service.stop());

const operations = (await newOperations(service)).flatMap((operation) =>
  Array<Operation>(operation.weight).fill(operation),
);
const latencies = new Map<string, number[]>();
let done = 0;
let failed = 0;

console.log(`soak: ${minutes} min, ${values.database}; measuring the maximum for ${calibrationMs / 1000} s`);
await work(performance.now() + 3000, 0);
done = 0;
latencies.clear();
await work(performance.now() + calibrationMs, 0);
const mostPerSecond = done / (calibrationMs / 1000);
const perSecond = mostPerSecond / 2;
console.log(shown(takeLatencies()));
console.log(`at most ${mostPerSecond.toFixed(0)} operations/s; going on with ${perSecond.toFixed(0)}`);

interface Sample {
  seconds: number;
  values: Record<string, number>;
}
const samples: Sample[] = [];
const startedMs = performance.now();
const endMs = startedMs + minutes * 60_000;
const working = work(endMs, (workers / perSecond) * 1000);
while (performance.now() + sampleMs <= endMs) {
  await Bun.sleep(sampleMs);
  const sample = await takeSample();
  samples.push(sample);
  console.log(`${sample.seconds.toFixed(0).padStart(6)} s  ${shown(sample.values)}`);
}
await working;

// The first third fills caches, pools and the heap, so slopes leave it out.
const steady = samples.slice(Math.floor(samples.length / 3));
console.log(`\nslopes an hour, over the last ${steady.length} samples:`);
for (const name of Object.keys(steady[0]?.values ?? {})) {
  const series = steady.map((sample) => sample.values[name] ?? 0);
  const slope = slopePerHour(
    steady.map(({ seconds }) => seconds),
    series,
  );
  const mean = series.reduce((sum, value) => sum + value, 0) / series.length;
  console.log(`${name.padEnd(16)} mean ${mean.toFixed(1).padStart(9)}  slope ${slope.toFixed(1).padStart(9)}`);
}
console.log(`\n${done} operations, ${failed} failed`);
await cleanups.disposeAsync();
process.exit(failed === 0 ? 0 : 1);

/** Each worker takes the next operation, at most once in `everyMs`. */
async function work(untilMs: number, everyMs: number): Promise<void> {
  const offset = Math.round(performance.timeOrigin + performance.now());
  let number = 0;
  async function worker(): Promise<void> {
    for (let nextMs = performance.now() + Math.random() * everyMs; performance.now() < untilMs; nextMs += everyMs) {
      if (nextMs > performance.now()) await Bun.sleep(nextMs - performance.now());
      number += 1;
      await once(operations[number % operations.length], offset + number);
    }
  }
  await Promise.all(Array.from({ length: workers }, worker));
}

async function once(operation: Operation | undefined, number: number): Promise<void> {
  if (operation === undefined) return;
  const beganMs = performance.now();
  try {
    await operation.run(number);
    done += 1;
  } catch (error) {
    failed += 1;
    if (failed <= 10) console.log(`${operation.name} failed: ${error instanceof Error ? error.message : error}`);
  }
  const known = latencies.get(operation.name) ?? [];
  known.push(performance.now() - beganMs);
  latencies.set(operation.name, known);
}

function shown(numbers: Record<string, number>): string {
  return Object.entries(numbers)
    .map(([name, value]) => `${name} ${value.toFixed(1)}`)
    .join("  ");
}

async function takeSample(): Promise<Sample> {
  const status = readFileSync(`/proc/${service.pid}/status`, "utf8");
  const [row] = (await postgres?.ask(
    "select count(*)::int as count from pg_stat_activity where application_name = 'inboxd'",
  )) ?? [{ count: 0 }];
  const sample: Sample = {
    seconds: (performance.now() - startedMs) / 1000,
    values: {
      "RSS MB": Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
      files: readdirSync(`/proc/${service.pid}/fd`).length,
      connections: Number(row?.count),
    },
  };
  Object.assign(sample.values, takeLatencies());
  return sample;
}

function takeLatencies(): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [name, list] of [...latencies].sort()) {
    const sorted = list.toSorted((one, other) => one - other);
    found[`${name} p50 ms`] = percentile(sorted, 0.5);
    found[`${name} p99 ms`] = percentile(sorted, 0.99);
  }
  latencies.clear();
  return found;
}
