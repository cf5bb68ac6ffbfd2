import { dataReader } from "./data-reader.ts";
import { hopCount } from "./hops.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { type Reply, reply, tooBig } from "./replies.ts";
import type { SmtpLimits } from "./smtp-limits.ts";

/** The transfer of one mail, from 354 until it is answered. */
export interface Transfer {
  /** Takes the next octets; returns the position behind the final dot, or -1 while the mail goes on. */
  take(chunk: Buffer): number;
  /** The mail that came whole, or why it is refused. */
  result(): { raw: Uint8Array } | { fault: Reply };
  /** Whether the mail goes on so far past the largest size that it's read no further. */
  readonly isEndless: boolean;
  /** Calls back when more may be read: at once, or once there is memory for it. */
  readOn(done: () => void): void;
  /** Holds the transfer against its deadlines; whether it comes too slowly. */
  isTooSlow(nowMs: number): boolean;
  /** Gives back what it held. */
  release(): void;
}

export interface TransferBounds {
  readonly limits: SmtpLimits;
  readonly maxBytes: number;
  readonly memory: MemoryBudget;
  /** Whose share of the memory it takes; undefined where that can't be told. */
  readonly network: string | undefined;
}

export function startTransfer({ limits, maxBytes, memory, network }: TransferBounds): Transfer {
  const { rateWindowMs } = limits;
  const reader = dataReader(maxBytes);
  const share = memory.join(network, stopKeeping);
  let windowEndsAtMs = performance.now() + limits.dataGraceMs + rateWindowMs;
  let windowBytes = 0;
  let mayReadOn = true;
  let waiting: { sinceMs: number; resume(): void } | undefined;
  let outOfMemory = false;

  function restartWindow(nowMs: number): void {
    windowEndsAtMs = nowMs + rateWindowMs;
    windowBytes = 0;
  }

  /** The rest of it is read and not kept: its sender gets an answer, and those who wait get the memory. */
  function stopKeeping(): void {
    outOfMemory = true;
    mayReadOn = true;
    reader.discard();
    share.release();
    waiting?.resume();
  }

  return {
    take(chunk) {
      const end = reader.read(chunk);
      windowBytes += chunk.length;
      if (!outOfMemory) mayReadOn = share.hold(reader.heldBytes);
      if (end !== -1) share.cameWhole();
      return end;
    },
    result() {
      if (reader.sizeBytes > maxBytes) return { fault: tooBig(maxBytes) };
      if (outOfMemory) return { fault: tooManyLarge };
      if (reader.loneDot) return { fault: loneDot };
      const raw = reader.bytes();
      const isLoop = hopCount(raw, limits.maxReceivedHeaders + 1) > limits.maxReceivedHeaders;
      return isLoop ? { fault: mailLoop } : { raw };
    },
    get isEndless() {
      return reader.sizeBytes > maxBytes + limits.overrunBytes;
    },
    readOn(done) {
      if (mayReadOn && reader.sizeBytes <= limits.memoryFreeBytes) return done();
      // Between two pieces of a large mail others get their turn: a full socket is read without a pause.
      if (mayReadOn) return void setImmediate(done);
      const resume = (): void => {
        waiting = undefined;
        restartWindow(performance.now());
        done();
      };
      waiting = { sinceMs: performance.now(), resume };
      share.whenFree(resume);
    },
    isTooSlow(nowMs) {
      if (waiting !== undefined) {
        if (nowMs - waiting.sinceMs >= limits.memoryWaitMs) stopKeeping();
        return false;
      }
      if (nowMs < windowEndsAtMs) return false;
      const tooSlow = windowBytes * 1000 < limits.minBytesPerSecond * rateWindowMs;
      restartWindow(nowMs);
      return tooSlow;
    },
    release() {
      reader.discard();
      share.release();
    },
  };
}

const tooManyLarge = reply(452, "4.3.1", "Too many great mails at once, try again later", "out_of_memory");
const mailLoop = reply(554, "5.4.6", "Too many Received headers: the mail runs in a circle", "mail_loop");
/** Whoever sends such a mail may hold it for two, so the session ends with it. */
export const loneDot = reply(550, "5.6.0", "A line of one dot beside a bare CR or LF is refused", "lone_dot");
