import { fairLine } from "./fair-line.ts";
import { type JobProcess, type JobProcessOptions, jobProcess } from "./job-process.ts";

/**
 * A pool of child processes for jobs. A process is killed if its job takes too much time or memory. A thread is not enough: a
 * terminated thread still runs a regular expression to its end, for hours, and only the kernel can stop it earlier.
 */
export interface ProcessPool<Job, Result> {
  /**
   * Runs a job. `job` is called when a process is free, so that only as many jobs as processes are in memory. Rejects if `job` fails.
   */
  run(job: () => Job | Promise<Job>, entry: QueueEntry): Promise<Outcome<Result>>;
  close(): void;
}

/**
 * The owner of a job (`sender`), for a fair order, and a signal that ends the wait of the job. Without a signal, the job waits at most
 * `queueMs`.
 */
export interface QueueEntry {
  sender: string;
  signal?: AbortSignal;
}

export type Outcome<Result> =
  | { kind: "done"; result: Result }
  /** The process was killed, because the job took too long or too much memory. */
  | { kind: "ended" }
  /** No process was free in time, none could be started, or it died by itself. The job is probably not the cause. */
  | { kind: "unserved" };

export interface ProcessPoolOptions extends JobProcessOptions {
  size: number;
  /** The time that a job may wait for a free process. */
  queueMs: number;
  /** Called when a process dies by itself or does not start, for the log. */
  onFault?: ((fault: string) => void) | undefined;
}

interface Waiting<Job, Result> {
  sender: string;
  make: () => Job | Promise<Job>;
  settle: (outcome: Outcome<Result>) => void;
  reject: (error: unknown) => void;
}

interface Slot<Job, Result> {
  process: JobProcess<Job>;
  current: Waiting<Job, Result> | undefined;
}

const unserved = { kind: "unserved" } as const;
const ended = { kind: "ended" } as const;

export function processPool<Job, Result>(options: ProcessPoolOptions): ProcessPool<Job, Result> {
  const slots = new Set<Slot<Job, Result>>();
  const line = fairLine<Waiting<Job, Result>>(options.size);
  let closed = false;

  function open(): void {
    const slot: Slot<Job, Result> = {
      process: jobProcess<Job, Result>(options, {
        onReady: next,
        onResult(result) {
          finish(slot, { kind: "done", result });
          next();
        },
        onEnd: (fault) => drop(slot, fault),
      }),
      current: undefined,
    };
    slots.add(slot);
    slot.process.start();
  }

  function drop(slot: Slot<Job, Result>, fault: string | undefined): void {
    slots.delete(slot);
    if (fault !== undefined && !closed) options.onFault?.(fault);
    // If a process did not start, another would not start either, so no waiting job is served.
    if (!slot.process.isUp()) for (const waiting of line.clear()) waiting.settle(unserved);
    finish(slot, closed || fault !== undefined ? unserved : ended);
    next();
  }

  async function give(slot: Slot<Job, Result>, waiting: Waiting<Job, Result>): Promise<void> {
    try {
      const job = await waiting.make();
      // The process may have ended meanwhile.
      if (slot.current === waiting) slot.process.give(job);
    } catch (error) {
      waiting.reject(error);
      finish(slot, unserved);
      next();
    }
  }

  function finish(slot: Slot<Job, Result>, outcome: Outcome<Result>): void {
    const { current } = slot;
    slot.current = undefined;
    if (current === undefined) return;
    line.leave(current.sender);
    if (outcome.kind === "ended") line.suspect(current.sender, performance.now());
    current.settle(outcome);
  }

  function next(): void {
    if (closed || line.length === 0) return;
    for (const slot of slots) {
      if (!slot.process.isUp() || slot.current !== undefined) continue;
      const waiting = line.take(performance.now());
      if (waiting === undefined) return;
      slot.current = waiting;
      void give(slot, waiting);
    }
    const starting = [...slots].filter((slot) => !slot.process.isUp()).length;
    if (line.length > starting && slots.size < options.size) open();
  }

  return {
    run(make, { sender, signal = AbortSignal.timeout(options.queueMs) }) {
      if (closed || signal.aborted) return Promise.resolve(unserved);
      return new Promise((resolve, reject) => {
        const giveUp = () => {
          if (line.remove(sender, waiting)) resolve(unserved);
        };
        const settle = (outcome: Outcome<Result>) => {
          signal.removeEventListener("abort", giveUp);
          resolve(outcome);
        };
        const waiting = { sender, make, settle, reject };
        signal.addEventListener("abort", giveUp);
        line.add(sender, waiting);
        next();
      });
    },

    close() {
      closed = true;
      for (const waiting of line.clear()) waiting.settle(unserved);
      for (const slot of [...slots]) slot.process.end();
    },
  };
}
