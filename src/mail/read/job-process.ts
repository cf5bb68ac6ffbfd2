import { readFileSync } from "node:fs";

/** A child process that does one job at a time. It is killed if a job takes too long or too much memory, or if it is idle for a while. */
export interface JobProcess<Job> {
  start(): void;
  /** Gives a job to a ready, idle process. */
  give(job: Job): void;
  end(): void;
  /** True once the process has sent `ready`. */
  isUp(): boolean;
}

/** The messages of a process: one `ready`, then a result for each job. */
export type ProcessAnswer<Result> = { ready: true } | { result: Result };

/** The callbacks for the events of a process. */
export interface JobProcessOwner<Result> {
  onReady(): void;
  onResult(result: Result): void;
  /** The last call, when the process has ended. Without a fault, it was killed because of its job, or because it was idle. */
  onEnd(fault?: string): void;
}

export interface JobProcessOptions {
  /** The program and its arguments. */
  command: readonly string[];
  /** The processor time that a job may use. */
  timeoutMs: number;
  /** The memory that a process may use. */
  mostBytes: number;
  /** A process ends after this time without a job, which frees its memory. */
  idleMs: number;
}

/** The time limit for a start, which takes 20 ms, or seconds on a busy machine. */
const startMs = 15_000;
const weighedEveryMs = 100;
/** The unit in which Linux counts processor time (proc(5)). */
const tickMs = 10;
/** On a busy machine, a job gets less processor time than has passed, so its processor time is checked up to five times. */
const mostChecks = 5;

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

  /** Starts a timer that ends the process after `ms`. A later call replaces the timer. */
  function arm(ms: number, fault?: string): void {
    clearTimeout(timer);
    timer = setTimeout(() => end(fault), ms);
  }

  /**
   * Ends the process when its job has used its processor time. With a limit on elapsed time alone, a harmless mail would lose its content
   * on a busy machine.
   */
  function armJob(beforeMs: number, checks = mostChecks, leftMs = options.timeoutMs): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const restMs = options.timeoutMs - (workedMs(child?.pid) - beforeMs);
      if (checks > 1 && restMs > 0) armJob(beforeMs, checks - 1, restMs);
      else end();
    }, leftMs);
  }

  function receive(answer: ProcessAnswer<Result>): void {
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
      arm(startMs, "Cannot start parser: its process was not ready in time");
      try {
        child = Bun.spawn([...options.command], {
          // The process gets none of our environment, which has secrets. With this flag, the kernel kills it when our process
          // dies, even during a job.
          env: { BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
          stdio: ["ignore", "ignore", "ignore"],
          ipc: receive,
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
        child?.send(job);
      } catch (error) {
        end(`Cannot parse mail: its process did not accept it: ${messageOf(error)}`);
      }
    },

    end: () => end(),
    isUp: () => isUp,
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The resident memory of a process from proc(5), or 0 if that is not available. */
function residentBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** The processor time of a process's main thread from proc(5), or NaN if that is not available. */
function workedMs(pid: number | undefined): number {
  try {
    const [, fields = ""] = readFileSync(`/proc/${pid}/task/${pid}/stat`, "latin1").split(") ");
    const [user, system] = fields.split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * tickMs;
  } catch {
    return Number.NaN;
  }
}
