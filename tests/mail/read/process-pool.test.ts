import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Outcome,
  type ProcessPool,
  type ProcessPoolOptions,
  processPool,
} from "../../../src/mail/read/process-pool.ts";
import { until } from "../../support/until.ts";

const program = join(import.meta.dir, "fixtures/willful-process.ts");
const pools: ProcessPool<string, string>[] = [];
/** Other tests may have left listeners in this process. */
let others: ReadonlySet<number>;
beforeEach(() => {
  others = new Set(childrenOfAll());
});
afterEach(async () => {
  for (const pool of pools.splice(0)) pool.close();
  await until(() => children().length === 0);
});

const unserved = { kind: "unserved" } as const;
const ended = { kind: "ended" } as const;
const did = (result: string): Outcome<string> => ({ kind: "done", result });

function openPool(options: Partial<ProcessPoolOptions> = {}) {
  const pool = processPool<string, string>({
    command: [process.execPath, program],
    size: 1,
    timeoutMs: 1000,
    queueMs: 20_000,
    mostBytes: 1 << 30,
    idleMs: 60_000,
    ...options,
  });
  pools.push(pool);
  const run = (job: string, sender = "a", signal?: AbortSignal) =>
    pool.run(() => job, { sender, ...(signal && { signal }) });
  return { run, close: pool.close };
}

test("a job gets its answer", async () => {
  expect(await openPool().run("a")).toEqual(did("did a"));
});

test("many jobs get each its own, over few processes", async () => {
  const { run } = openPool({ size: 2 });
  const names = Array.from({ length: 20 }, (_, index) => `job ${index}`);
  expect(await Promise.all(names.map((name) => run(name)))).toEqual(names.map((name) => did(`did ${name}`)));
});

test("a process sees nothing of our environment", async () => {
  const { result: names = "" } = { ...(await openPool().run("environment")) } as { result?: string };
  // Only the variables of the runtime's own channel remain.
  expect(names.split(",").filter((name) => !/^(BUN|NODE)_/.test(name))).toEqual([]);
});

test("a job that had little of the processor gets more time", async () => {
  expect(await openPool({ timeoutMs: 1000 }).run("nap")).toEqual(did("did nap"));
});

describe("a job that never ends is ended, and the next one is done", () => {
  test("also within a pattern, which cannot be interrupted in a thread, and the processor is idle afterwards", async () => {
    const { run } = openPool();
    const startMs = performance.now();
    expect(await Promise.all([run("pattern"), run("b")])).toEqual([ended, did("did b")]);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(1000);
    await until(() => childrenAtWork().length === 0);
  });

  test("even if it does no work", async () => {
    expect(await Promise.all([openPool({ timeoutMs: 100 }).run("sleep"), openPool().run("b")])).toEqual([
      ended,
      did("did b"),
    ]);
  });

  test("a job that takes too much memory is killed, too, long before its time is over", async () => {
    const { run } = openPool({ timeoutMs: 60_000, mostBytes: 256 << 20 });
    expect(await Promise.all([run("memory"), run("b")])).toEqual([ended, did("did b")]);
  }, 20_000);

  test.each(["throw", "exit"])(
    "a process that dies by itself (%s) does not blame its job, and is reported",
    async (how) => {
      const faults: string[] = [];
      const { run } = openPool({ onFault: (fault) => faults.push(fault), timeoutMs: 20_000 });
      expect(await Promise.all([run(how), run("b")])).toEqual([unserved, did("did b")]);
      expect(faults.length).toBe(1);
    },
  );
});

describe("no job waits forever", () => {
  test.each([
    ["that ends at once", [process.execPath, join(import.meta.dir, "fixtures/no-such-process.ts")]],
    ["that isn't there", ["/no/such/program"]],
  ])("for a process %s", async (_what, command) => {
    const faults: string[] = [];
    const { run } = openPool({ command, onFault: (fault) => faults.push(fault) });
    expect(await Promise.all([run("a"), run("b")])).toEqual([unserved, unserved]);
    expect(faults.length).toBeGreaterThan(0);
  });

  test("for longer than the time", async () => {
    const { run, close } = openPool({ timeoutMs: 20_000, queueMs: 500 });
    expect(await run("a")).toEqual(did("did a"));
    const busy = run("pattern");
    expect(await run("late")).toEqual(unserved);
    close();
    expect(await busy).toEqual(unserved);
  });

  test("for longer than its signal allows", async () => {
    const { run } = openPool({ timeoutMs: 20_000 });
    const giveUp = new AbortController();
    const busy = run("pattern");
    const late = run("late", "a", giveUp.signal);
    giveUp.abort();
    expect(await late).toEqual(unserved);
    pools[0]?.close();
    expect(await busy).toEqual(unserved);
  });

  test("when it closes, or after", async () => {
    const { run, close } = openPool();
    const waiting = [run("pattern"), run("a")];
    close();
    expect(await Promise.all([...waiting, run("b")])).toEqual([unserved, unserved, unserved]);
  });
});

test("of two senders the one with a hundred jobs doesn't keep the other waiting", async () => {
  const { run } = openPool();
  const order: string[] = [];
  const note = (name: string) => () => void order.push(name);
  const flood = Array.from({ length: 100 }, (_, index) => run(`flood ${index}`, "flooder").then(note("flood")));
  await run("letter", "writer").then(note("letter"));
  expect(order.length).toBeLessThan(4);
  await Promise.all(flood);
});

describe("a process is gone for good", () => {
  test("after a time without work; the next job gets another", async () => {
    const { run } = openPool({ idleMs: 100 });
    expect(await run("a")).toEqual(did("did a"));
    const [pid] = children();
    expect(pid).toBeNumber();
    await until(() => !existsSync(`/proc/${pid}`));
    expect(await run("b")).toEqual(did("did b"));
  });

  test("when the pool closes", async () => {
    const { run, close } = openPool({ size: 2 });
    await Promise.all([run("a"), run("b")]);
    close();
    await until(() => children().length === 0);
  });

  test("when we are killed, though it is at work", async () => {
    const parent = Bun.spawn([process.execPath, join(import.meta.dir, "fixtures/parent-of-willful.ts")], {
      stdout: "pipe",
    });
    const { value } = await parent.stdout.getReader().read();
    const pid = Number(new TextDecoder().decode(value));
    expect(stateOf(pid)).toMatch(/[RS]/);
    parent.kill("SIGKILL");
    await parent.exited;
    await until(() => !/[RSD]/.test(stateOf(pid)));
  });
});

/** The processes of a test's pools, including zombies (proc(5)). */
const children = () => childrenOfAll().filter((pid) => !others.has(pid));

function childrenOfAll(): number[] {
  return readFileSync(`/proc/self/task/${process.pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
}

const childrenAtWork = () => children().filter((pid) => stateOf(pid) === "R");

/** `R` is running, `S` sleeping, `Z` a zombie, `` gone. */
function stateOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.[0] ?? "";
  } catch {
    return "";
  }
}
