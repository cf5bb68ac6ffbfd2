import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** The result of a piece of work, and the time that it would have taken on an idle machine. */
export interface Timed<Result> {
  result: Result;
  fairMs: number;
  /** The time by the clock. */
  tookMs: number;
}

/**
 * Measures work against a peer that runs beside it, so that a bound holds on a busy machine too. The peer is a thread that needs 10 ms of
 * processor time again and again; if the clock says 150 ms for each, the machine is fifteen times slower than it could be, and the work's
 * time is divided by fifteen.
 */
export async function fairly<Result>(work: () => Promise<Result>): Promise<Timed<Result>> {
  peer ??= startPeer();
  const { totals, control } = peer;
  const [wallBefore = 0, cpuBefore = 0] = totals;
  const startMs = performance.now();
  Atomics.add(control, 0, 1);
  Atomics.notify(control, 0);
  try {
    const result = await work();
    const tookMs = performance.now() - startMs;
    // A sample in progress counts: on a starved machine there may be no other.
    while (tookMs > shortMs && totals[1] === cpuBefore) await Bun.sleep(1);
    const [wallMs = 0, cpuMs = 0] = [(totals[0] ?? 0) - wallBefore, (totals[1] ?? 0) - cpuBefore];
    const slowness = cpuMs === 0 ? 1 : Math.max(1, wallMs / cpuMs);
    return { result, fairMs: tookMs / slowness, tookMs };
  } finally {
    Atomics.sub(control, 0, 1);
  }
}

/** Work this short needs no sample: it is within any bound. */
const shortMs = 100;

interface Peer {
  /** Milliseconds by the clock and of the processor, of all samples. */
  totals: Float64Array;
  /** The number of measurements under way; the thread sleeps at 0. */
  control: Int32Array;
}

let peer: Peer | undefined;

function startPeer(): Peer {
  const totals = new Float64Array(new SharedArrayBuffer(16));
  const control = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(join(import.meta.dir, "fair-time-peer.ts"));
  worker.unref();
  worker.postMessage({ totals, control });
  return { totals, control };
}
