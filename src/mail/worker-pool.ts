/** Work for a Worker thread, with an end after `timeoutMs` however hard the thread is at it. */
export interface WorkerPool<Job, Result> {
  /** The Worker's answer; `undefined` where it gave none in time, died, or never came up. */
  run(job: () => PreparedJob<Job>): Promise<Result | undefined>;
  close(): void;
}

/** What goes to the Worker, and the buffers that go with it without a copy. */
export interface PreparedJob<Job> {
  message: Job;
  transfer: ArrayBuffer[];
}

/** The Worker says `ready` once, then answers each message with one. */
export type WorkerAnswer<Result> = { ready: true } | { result: Result };

export interface WorkerPoolOptions {
  url: string | URL;
  size: number;
  timeoutMs: number;
  /** How long a job may wait for a free Worker. */
  queueMs: number;
  /** Told when a Worker dies by itself or doesn't start: the service goes on, but someone should know. */
  onFault?: ((fault: string) => void) | undefined;
}

interface Waiting<Job, Result> {
  prepare: () => PreparedJob<Job>;
  settle: (result: Result | undefined) => void;
}

interface Slot<Job, Result> {
  worker: Worker;
  ready: boolean;
  current: Waiting<Job, Result> | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
}

/** A Worker loads its modules when it starts, on a busy machine for seconds. */
const startMs = 15_000;

export function workerPool<Job, Result>(options: WorkerPoolOptions): WorkerPool<Job, Result> {
  const slots = new Set<Slot<Job, Result>>();
  const queue: Waiting<Job, Result>[] = [];
  let closed = false;

  function open(): void {
    // A Worker never holds the process up; while a job runs, its timer does.
    const worker = new Worker(options.url, { ref: false });
    const slot: Slot<Job, Result> = { worker, ready: false, current: undefined, timer: undefined };
    slots.add(slot);
    arm(slot, startMs, "Cannot start parser: its thread does not come up");
    worker.onmessage = (event: MessageEvent<WorkerAnswer<Result>>) => {
      clearTimeout(slot.timer);
      if ("ready" in event.data) slot.ready = true;
      else finish(slot, event.data.result);
      next();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      drop(slot, `Cannot parse mail: the thread failed: ${event.message}`);
    };
    worker.addEventListener("close", () => drop(slot, "Cannot parse mail: the thread ended by itself"));
  }

  /** Ends the thread when the time is over: `terminate` also stops a loop that never yields. */
  function arm(slot: Slot<Job, Result>, ms: number, fault?: string): void {
    clearTimeout(slot.timer);
    slot.timer = setTimeout(() => drop(slot, fault), ms);
  }

  function drop(slot: Slot<Job, Result>, fault?: string): void {
    if (!slots.delete(slot)) return;
    clearTimeout(slot.timer);
    slot.worker.terminate();
    if (fault !== undefined && !closed) options.onFault?.(fault);
    // A thread that never came up would not come up for the next job either.
    if (!slot.ready) for (const waiting of queue.splice(0)) waiting.settle(undefined);
    finish(slot, undefined);
    next();
  }

  function finish(slot: Slot<Job, Result>, result: Result | undefined): void {
    const { current } = slot;
    slot.current = undefined;
    current?.settle(result);
  }

  function next(): void {
    if (closed || queue.length === 0) return;
    for (const slot of slots) {
      if (!slot.ready || slot.current !== undefined) continue;
      const waiting = queue.shift();
      if (waiting === undefined) return;
      slot.current = waiting;
      const { message, transfer } = waiting.prepare();
      arm(slot, options.timeoutMs);
      slot.worker.postMessage(message, transfer);
    }
    const starting = [...slots].filter((slot) => !slot.ready).length;
    if (queue.length > starting && slots.size < options.size) open();
  }

  return {
    run(prepare) {
      if (closed) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        const patience = setTimeout(() => {
          const place = queue.indexOf(waiting);
          if (place < 0) return;
          queue.splice(place, 1);
          resolve(undefined);
        }, options.queueMs);
        const settle = (result: Result | undefined) => {
          clearTimeout(patience);
          resolve(result);
        };
        const waiting = { prepare, settle };
        queue.push(waiting);
        next();
      });
    },

    close() {
      closed = true;
      for (const waiting of queue.splice(0)) waiting.settle(undefined);
      for (const slot of [...slots]) drop(slot);
    },
  };
}
