import { type Connection, dial, type Target } from "./connection.ts";
import type { Start } from "./starts.ts";

/** The state of a request, so that its time limit can end whatever it is doing. */
export interface Attempt {
  startedMs: number;
  timeoutMs: number;
  phase: "resolving" | "connecting" | "answering";
  connected: boolean;
  /** The reason, if a time limit or a signal ended it. */
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

/** Ends the attempt at its time limit or on the signal. Returns a function that stops both. */
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

/** Stops waiting when the attempt ends. The look-up itself cannot be cancelled. */
export function unlessEnded(attempt: Attempt, addresses: Promise<string[] | string>): Promise<string[] | string> {
  const ended = new Promise<string>((resolve) => {
    attempt.cancel = () => resolve("ended");
    if (attempt.ended !== undefined) resolve(attempt.ended);
  });
  return Promise.race([addresses, ended]).then((first) => attempt.ended ?? first);
}

/** The number of addresses of one host to try: a zone with a hundred dead ones must not use up the time limit. */
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
