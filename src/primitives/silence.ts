import { within } from "./within.ts";

/** Remembers that a server does not answer, so that nothing waits for it during its outage. */
export interface Silence {
  /** Whether the server must not be asked now. After each silence of 5 seconds one call waits for a probe, for at most 0.1 seconds. */
  isSilent(): Promise<boolean>;
  answered(): void;
  timedOut(): void;
}

export interface SilenceOptions {
  now: () => Date;
  /** Asks the server for what it has without asking others, and what no stranger chooses. Returns whether it answered. */
  probe: () => Promise<boolean>;
}

const mostTimeouts = 5;
const silenceMs = 5_000;
/** A server that is well answers a probe sooner. Others wait with this call, as all mail of a domain does for one answer of the DNS. */
const mostWaitMs = 100;

/**
 * A server is silent for 5 seconds if it has left 5 questions and then a probe unanswered. The probe is needed because strangers choose
 * the questions: those about a zone with dead servers time out at a healthy resolver too, and so does a mail that a judge is slow to read.
 */
export function silence({ now, probe }: SilenceOptions): Silence {
  /** Time-outs since the last answer. */
  let timeouts = 0;
  let isProbed = false;
  /** The end of the silence. Undefined if the server may be asked. */
  let untilMs: number | undefined;

  function answered(): void {
    timeouts = 0;
    untilMs = undefined;
  }

  async function isSilentStill(): Promise<boolean> {
    isProbed = true;
    const answers = await probe();
    isProbed = false;
    if (answers) answered();
    else untilMs = now().getTime() + silenceMs;
    return !answers;
  }

  return {
    async isSilent() {
      if (untilMs === undefined) return false;
      if (isProbed || now().getTime() < untilMs) return true;
      return within(mostWaitMs, isSilentStill(), () => true);
    },
    answered,
    timedOut() {
      timeouts += 1;
      if (timeouts >= mostTimeouts && !isProbed && untilMs === undefined) void isSilentStill();
    },
  };
}
