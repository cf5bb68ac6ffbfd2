import { readFileSync } from "node:fs";
import { fairLine } from "./fair-line.ts";

/**
 * Work for processes of our own, with an end after `timeoutMs` however hard one is at it. It takes the kernel to end a running
 * pattern: a thread that is told to stop runs it to its end, for hours.
 */
export interface ProcessPool<Job, Result> {
  /** The job is made when a process is free for it. */
  run(job: () => Job, entry: QueueEntry): Promise<Outcome<Result>>;
  close(): void;
}

/** Whose job it is, for its place among others that wait, and until when it waits: `queueMs` long where no signal says. */
export interface QueueEntry {
  sender: string;
  signal?: AbortSignal;
}

export type Outcome<Result> =
  | { kind: "done"; result: Result }
  /** It took too long or too much memory. */
  | { kind: "ended" }
  /** No process was free for it in time, none could be started, or it died by itself: as far as anybody knows the job is not at fault. */
  | { kind: "unserved" };

/** A process says `ready` once, then answers each job with one. */
export type ProcessAnswer<Result> = { ready: true } | { result: Result };

export interface ProcessPoolOptions {
  /** The program and its arguments. */
  command: readonly string[];
  size: number;
  timeoutMs: number;
  /** How long a job may wait for a free process. */
  queueMs: number;
  /** How much memory a process may have. */
  mostBytes: number;
  /** A process without work for so long gives its memory back by ending. */
  idleMs: number;
  /** Told when a process dies by itself or doesn't start: the service goes on, but someone should know. */
  onFault?: ((fault: string) => void) | undefined;
}

interface Waiting<Job, Result> {
  sender: string;
  make: () => Job;
  settle: (outcome: Outcome<Result>) => void;
}

interface Slot<Job, Result> {
  child: Bun.Subprocess | undefined;
  ready: boolean;
  current: Waiting<Job, Result> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  scale: ReturnType<typeof setInterval> | undefined;
}

/** From the spawn to `ready` it is 20 ms, on a busy machine seconds. */
const startMs = 15_000;
const weighedEveryMs = 100;

const unserved = { kind: "unserved" } as const;
const ended = { kind: "ended" } as const;

export function processPool<Job, Result>(options: ProcessPoolOptions): ProcessPool<Job, Result> {
  const slots = new Set<Slot<Job, Result>>();
  const line = fairLine<Waiting<Job, Result>>(options.size);
  let closed = false;

  function open(): void {
    const slot: Slot<Job, Result> = {
      child: undefined,
      ready: false,
      current: undefined,
      timer: undefined,
      scale: undefined,
    };
    slots.add(slot);
    arm(slot, startMs, "Cannot start parser: its process does not come up");
    try {
      slot.child = Bun.spawn([...options.command], {
        // It gets nothing of our environment, which holds secrets. By this flag the kernel ends it when we die, even at work.
        env: { BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
        stdio: ["ignore", "ignore", "ignore"],
        ipc: (answer: ProcessAnswer<Result>) => heard(slot, answer),
        onExit: (_child, code, signal) =>
          drop(slot, `Cannot parse mail: its process ended by itself (${signal ?? code})`),
      });
      slot.child.unref();
    } catch (error) {
      drop(slot, `Cannot start parser: ${messageOf(error)}`);
    }
  }

  function heard(slot: Slot<Job, Result>, answer: ProcessAnswer<Result>): void {
    if (!slots.has(slot)) return;
    if ("ready" in answer) slot.ready = true;
    else finish(slot, { kind: "done", result: answer.result });
    arm(slot, options.idleMs);
    next();
  }

  /** Ends the process when the time is over. Without a fault of its own that is its job's. */
  function arm(slot: Slot<Job, Result>, ms: number, fault?: string): void {
    clearTimeout(slot.timer);
    slot.timer = setTimeout(() => drop(slot, fault), ms);
  }

  function drop(slot: Slot<Job, Result>, fault?: string): void {
    if (!slots.delete(slot)) return;
    clearTimeout(slot.timer);
    slot.child?.kill("SIGKILL");
    if (fault !== undefined && !closed) options.onFault?.(fault);
    // A process that never came up would not come up for the next job either.
    if (!slot.ready) for (const waiting of line.clear()) waiting.settle(unserved);
    finish(slot, closed || fault !== undefined ? unserved : ended);
    next();
  }

  function finish(slot: Slot<Job, Result>, outcome: Outcome<Result>): void {
    clearInterval(slot.scale);
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
      if (!slot.ready || slot.current !== undefined) continue;
      const waiting = line.take(performance.now());
      if (waiting === undefined) return;
      start(slot, waiting);
    }
    const starting = [...slots].filter((slot) => !slot.ready).length;
    if (line.length > starting && slots.size < options.size) open();
  }

  function start(slot: Slot<Job, Result>, waiting: Waiting<Job, Result>): void {
    slot.current = waiting;
    arm(slot, options.timeoutMs);
    slot.scale = setInterval(() => {
      if (residentBytes(slot.child?.pid) > options.mostBytes) drop(slot);
    }, weighedEveryMs);
    try {
      slot.child?.send(waiting.make());
    } catch (error) {
      drop(slot, `Cannot parse mail: its process does not take it: ${messageOf(error)}`);
    }
  }

  return {
    run(make, { sender, signal = AbortSignal.timeout(options.queueMs) }) {
      if (closed || signal.aborted) return Promise.resolve(unserved);
      return new Promise((resolve) => {
        const giveUp = () => {
          if (line.remove(sender, waiting)) resolve(unserved);
        };
        const settle = (outcome: Outcome<Result>) => {
          signal.removeEventListener("abort", giveUp);
          resolve(outcome);
        };
        const waiting = { sender, make, settle };
        signal.addEventListener("abort", giveUp);
        line.add(sender, waiting);
        next();
      });
    },

    close() {
      closed = true;
      for (const waiting of line.clear()) waiting.settle(unserved);
      for (const slot of [...slots]) drop(slot);
    },
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
