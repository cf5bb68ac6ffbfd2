import { readFileSync } from "node:fs";

/**
 * A process of our own that does one job after the other. It is killed where one takes too long or too much memory, and where
 * none comes for a while.
 */
export interface JobProcess<Job> {
  start(): void;
  /** For a process that is up and has no job. The job is made only now. */
  give(job: () => Job): void;
  end(): void;
  /** Whether it ever came up. */
  isUp(): boolean;
}

/** A process says `ready` once, then answers each job with one. */
export type ProcessAnswer<Result> = { ready: true } | { result: Result };

/** Who is told what becomes of a process. */
export interface JobProcessOwner<Result> {
  onReady(): void;
  onResult(result: Result): void;
  /** Told once, and nothing after it. Without a fault it was ended for what it did, or because nobody needed it. */
  onEnd(fault?: string): void;
}

export interface JobProcessOptions {
  /** The program and its arguments. */
  command: readonly string[];
  /** How much of the processor's time a job may have. */
  timeoutMs: number;
  /** How much memory a process may have. */
  mostBytes: number;
  /** A process without work for so long gives its memory back by ending. */
  idleMs: number;
}

/** From the spawn to `ready` it is 20 ms, on a busy machine seconds. */
const startMs = 15_000;
const weighedEveryMs = 100;
/** The unit in which Linux tells processor time. */
const tickMs = 10;
/** So often a job is looked at that had less of the processor than its time, since others are at work beside it. */
const mostLooks = 5;

export function jobProcess<Job, Result>(options: JobProcessOptions, owner: JobProcessOwner<Result>): JobProcess<Job> {
  let child: Bun.Subprocess | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let scale: ReturnType<typeof setInterval> | undefined;
  let isUp = false;
  let hasEnded = false;

  function end(fault?: string): void {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    clearInterval(scale);
    child?.kill("SIGKILL");
    owner.onEnd(fault);
  }

  /** Ends the process when the time is over. Without a fault of its own that is its job's. */
  function arm(ms: number, fault?: string): void {
    clearTimeout(timer);
    timer = setTimeout(() => end(fault), ms);
  }

  /** By the clock alone a mail would be misread for what the machine does beside it. */
  function armJob(beforeMs: number, looks = mostLooks, leftMs = options.timeoutMs): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const restMs = options.timeoutMs - (workedMs(child?.pid) - beforeMs);
      if (looks > 1 && restMs > 0) armJob(beforeMs, looks - 1, restMs);
      else end();
    }, leftMs);
  }

  function hear(answer: ProcessAnswer<Result>): void {
    if (hasEnded) return;
    arm(options.idleMs);
    if ("ready" in answer) {
      isUp = true;
      owner.onReady();
    } else {
      clearInterval(scale);
      owner.onResult(answer.result);
    }
  }

  return {
    start() {
      arm(startMs, "Cannot start parser: its process does not come up");
      try {
        child = Bun.spawn([...options.command], {
          // It gets nothing of our environment, which holds secrets. By this flag the kernel ends it when we die, even at work.
          env: { BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
          stdio: ["ignore", "ignore", "ignore"],
          ipc: hear,
          onExit: (_child, code, signal) => end(`Cannot parse mail: its process ended by itself (${signal ?? code})`),
        });
        child.unref();
      } catch (error) {
        end(`Cannot start parser: ${messageOf(error)}`);
      }
    },

    give(job) {
      armJob(workedMs(child?.pid));
      scale = setInterval(() => {
        if (residentBytes(child?.pid) > options.mostBytes) end();
      }, weighedEveryMs);
      try {
        child?.send(job());
      } catch (error) {
        end(`Cannot parse mail: its process does not take it: ${messageOf(error)}`);
      }
    },

    end: () => end(),
    isUp: () => isUp,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a process has in memory, by proc(5); 0 where nobody tells. */
function residentBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** What the thread of a process that does the work has had of the processor, by proc(5); not a number where nobody tells. */
function workedMs(pid: number | undefined): number {
  try {
    const [, fields = ""] = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1").split(") ");
    const [user, system] = fields.split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * tickMs;
  } catch {
    return Number.NaN;
  }
}
