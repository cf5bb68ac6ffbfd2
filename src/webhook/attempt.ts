import { type Connection, dial, type Target } from "./connection.ts";
import type { Start } from "./starts.ts";

/** The progress of a request. `cancel` ends its current phase: the time limit and the signal call it. */
export interface Attempt {
  startedMs: number;
  timeoutMs: number;
  phase: "resolving" | "connecting" | "answering";
  connected: boolean;
  /** The reason why the time limit or the signal has ended the attempt; undefined if neither has. */
  ended: string | undefined;
  cancel: () => void;
  start: Start | undefined;
}

export function newAttempt(timeoutMs: number, start: Start | undefined): Attempt {
  return {
    startedMs: performance.now(),
    timeoutMs,
    phase: "resolving",
    connected: false,
    ended: undefined,
    cancel: () => undefined,
    start,
  };
}

/** Ends the attempt at its time limit, or when the signal aborts. Returns a function that stops waiting for both. */
export function endInTime(attempt: Attempt, signal: AbortSignal | undefined): () => void {
  const end = (reason: string) => {
    attempt.ended ??= reason;
    attempt.cancel();
  };
  const aborted = () => end("the attempt was aborted");
  const timer = setTimeout(() => end(timedOut(attempt)), attempt.timeoutMs);
  signal?.addEventListener("abort", aborted);
  if (signal?.aborted) aborted();
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", aborted);
  };
}

function timedOut({ phase, timeoutMs }: Attempt): string {
  const words = { resolving: ", resolving the host", connecting: ", connecting", answering: "" };
  return `timed out after ${timeoutMs / 1000} s${words[phase]}`;
}

/** Waits for the look-up or the end of the attempt. The look-up itself cannot be cancelled. */
export function unlessEnded(attempt: Attempt, addresses: Promise<string[] | string>): Promise<string[] | string> {
  const ended = new Promise<string>((resolve) => {
    attempt.cancel = () => resolve("ended");
    if (attempt.ended !== undefined) resolve(attempt.ended);
  });
  return Promise.race([addresses, ended]).then((first) => attempt.ended ?? first);
}

/** The most addresses of a host to try: each gets a share of the time limit, which a hundred dead ones would use up. */
const maxAddresses = 4;

/** Tries the addresses in order until one connects. Each gets an equal share of the time that is left, the last gets all. */
export async function connect(
  attempt: Attempt,
  target: Omit<Target, "address">,
  addresses: readonly string[],
): Promise<{ made: Connection | string; address: string }> {
  attempt.phase = "connecting";
  attempt.connected = false;
  const tried = addresses.slice(0, maxAddresses);
  let made: Connection | string = "no address";
  let last = "";
  for (const [index, address] of tried.entries()) {
    if (attempt.ended !== undefined) return { made: attempt.ended, address };
    const dialling = dial({ ...target, address });
    attempt.cancel = dialling.cancel;
    const leftMs = attempt.timeoutMs - (performance.now() - attempt.startedMs);
    const isLast = index === tried.length - 1;
    const patience = isLast ? undefined : setTimeout(dialling.cancel, leftMs / (tried.length - index));
    made = await dialling.connected;
    clearTimeout(patience);
    last = address;
    if (typeof made !== "string") break;
  }
  return { made, address: last };
}
