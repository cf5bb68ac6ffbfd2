import { type DataReader, dataReader } from "./data-reader.ts";
import type { MemoryBudget } from "./memory-budget.ts";
import { type Reply, reply, tooBig } from "./replies.ts";
import type { SmtpLimits } from "./smtp-limits.ts";

/** The transfer of one mail, from 354 until its reply. */
export interface Transfer {
  /** Reads the next octets. Returns the index after the final dot's CRLF, or -1 if the mail goes on. */
  take(chunk: Buffer): number;
  /** The complete mail, or the reply that refuses it. Must be called when the mail has ended. */
  result(): { raw: Uint8Array } | { fault: Reply };
  /** Whether the mail will be refused, however it goes on. */
  readonly isRefused: boolean;
  /** Whether the mail is so much too large that it is not read further. */
  readonly isEndless: boolean;
  /** Calls back when more may be read: at once, or when there is memory for it. */
  readOn(done: () => void): void;
  /** Whether the transfer is too slow for its deadlines. */
  isTooSlow(nowMs: number): boolean;
  /** Frees the memory. */
  release(): void;
}

export interface TransferBounds {
  readonly limits: SmtpLimits;
  readonly maxBytes: number;
  readonly memory: MemoryBudget;
  /** The network whose share of the memory the mail uses; undefined for a load balancer (`uncountedAddresses`). */
  readonly network: string | undefined;
}

export function startTransfer(
  { limits, maxBytes, memory, network }: TransferBounds,
  reader: DataReader = dataReader(maxBytes),
): Transfer {
  const { rateWindowMs } = limits;
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

  /**
   * Gives the memory of this mail to others that wait. The rest of the mail is read without being kept, so that its sender gets a reply.
   */
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
      return end;
    },
    result() {
      share.cameWhole();
      if (reader.sizeBytes > maxBytes) return { fault: tooBig(maxBytes) };
      if (outOfMemory) return { fault: tooManyLarge };
      if (reader.loneDot) return { fault: loneDot };
      const raw = reader.bytes();
      const isLoop = hopCount(raw, limits.maxReceivedHeaders + 1) > limits.maxReceivedHeaders;
      return isLoop ? { fault: mailLoop } : { raw };
    },
    get isRefused() {
      return outOfMemory || reader.sizeBytes > maxBytes;
    },
    get isEndless() {
      return reader.sizeBytes > maxBytes + limits.overrunBytes;
    },
    readOn(done) {
      if (mayReadOn && reader.sizeBytes <= limits.memoryFreeBytes) return done();
      // Other sessions run between two pieces of a large mail, because a full socket is read without a pause.
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

const tooManyLarge = reply(452, "4.3.1", "Too many large mails at once, try again later", "out_of_memory");
const mailLoop = reply(554, "5.4.6", "Too many Received headers: mail loop detected", "mail_loop");
/**
 * The reply to a mail that the client may take for two. It also ends the session, because later replies would answer other commands than
 * the client thinks.
 */
export const loneDot = reply(550, "5.6.0", "A line of one dot beside a bare CR or LF is refused", "lone_dot");

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const received = new TextEncoder().encode("received");

/**
 * Only this many bytes are searched for Received headers, so that a mail of short lines does not block the process. A loop of 100 hops fits
 * in a quarter of it.
 */
const scannedBytes = 256 << 10;

/** The number of Received headers of a mail, counted up to `enough` (loop detection, RFC 5321 §6.3). */
export function hopCount(raw: Uint8Array, enough: number): number {
  const end = Math.min(raw.length, scannedBytes);
  let hops = 0;
  let at = 0;
  while (at < end && hops < enough && raw[at] !== CR && raw[at] !== LF) {
    if (isReceived(raw, at)) hops += 1;
    const lineEnd = raw.indexOf(LF, at);
    if (lineEnd === -1) break;
    at = lineEnd + 1;
  }
  return hops;
}

function isReceived(raw: Uint8Array, at: number): boolean {
  for (let i = 0; i < received.length; i++) {
    // 0x20 makes an ASCII letter lower-case.
    if (((raw[at + i] ?? 0) | 0x20) !== received[i]) return false;
  }
  let end = at + received.length;
  while (raw[end] === 0x20 || raw[end] === 0x09) end += 1;
  return raw[end] === COLON;
}
