import { afterEach, expect, test } from "bun:test";
import { type WorkerPool, type WorkerPoolOptions, workerPool } from "../../src/mail/worker-pool.ts";

const url = new URL("./fixtures/willful-worker.ts", import.meta.url);
const pools: WorkerPool<string, string>[] = [];
afterEach(() => {
  for (const pool of pools.splice(0)) pool.close();
});

function openPool(options: Partial<WorkerPoolOptions> = {}) {
  const pool = workerPool<string, string>({ url, size: 1, timeoutMs: 1000, queueMs: 20_000, ...options });
  pools.push(pool);
  return { run: (message: string) => pool.run(() => ({ message, transfer: [] })), close: pool.close };
}

test("a job gets its answer", async () => {
  expect(await openPool().run("a")).toBe("did a");
});

test("many jobs get each its own, over few Workers", async () => {
  const { run } = openPool({ size: 2 });
  const names = Array.from({ length: 20 }, (_, index) => `job ${index}`);
  expect(await Promise.all(names.map(run))).toEqual(names.map((name) => `did ${name}`));
});

test("a job that never ends is ended, and the next one is done", async () => {
  const { run } = openPool();
  const startMs = performance.now();
  const [endless, next] = await Promise.all([run("loop"), run("b")]);
  expect(endless).toBeUndefined();
  expect(next).toBe("did b");
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(1000);
});

test.each(["throw", "exit"])("a Worker that dies (%s) costs one job and is told of", async (how) => {
  const faults: string[] = [];
  const { run } = openPool({ onFault: (fault) => faults.push(fault), timeoutMs: 20_000 });
  expect(await Promise.all([run(how), run("b")])).toEqual([undefined, "did b"]);
  expect(faults.length).toBe(1);
});

test("Workers that can't start leave no job waiting", async () => {
  const faults: string[] = [];
  const { run } = openPool({
    url: new URL("./fixtures/no-such-worker.ts", import.meta.url),
    onFault: (fault) => faults.push(fault),
  });
  expect(await Promise.all([run("a"), run("b")])).toEqual([undefined, undefined]);
  expect(faults.length).toBeGreaterThan(0);
});

test("a job doesn't wait for a Worker for ever", async () => {
  const { run } = openPool({ timeoutMs: 20_000, queueMs: 1000 });
  expect(await run("a")).toBe("did a");
  const busy = run("loop");
  expect(await run("late")).toBeUndefined();
  pools[0]?.close();
  expect(await busy).toBeUndefined();
});

test("closing answers all that wait, and what comes after", async () => {
  const { run, close } = openPool();
  const waiting = [run("loop"), run("a")];
  close();
  expect(await Promise.all([...waiting, run("b")])).toEqual([undefined, undefined, undefined]);
});
