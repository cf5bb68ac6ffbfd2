import type { NameServer } from "../standards/name-server.ts";

/** Remembers the name servers that do not answer, so that no question waits for them during an outage of the DNS. */
export interface SilentServers {
  /** Whether this server must not be asked now. After each silence of 5 seconds one call waits for a probe. */
  isSilent(server: NameServer): Promise<boolean>;
  answered(server: NameServer): void;
  timedOut(server: NameServer): void;
}

export interface SilenceOptions {
  now: () => Date;
  /** Asks a server for a record that it has without asking others. Returns whether it answered. */
  probe: (server: NameServer) => Promise<boolean>;
}

interface State {
  /** Time-outs since the last answer. */
  timeouts: number;
  isProbed: boolean;
  /** The end of the silence. Undefined if the server may be asked. */
  untilMs: number | undefined;
}

const mostTimeouts = 5;
const silenceMs = 5_000;

/**
 * A server is silent for 5 seconds if it has left 5 questions and then a probe unanswered. The probe is needed because strangers choose
 * the names of the questions: questions about a zone with dead servers time out at a healthy resolver too.
 */
export function silentServers({ now, probe }: SilenceOptions): SilentServers {
  const states = new Map<string, State>();

  async function isSilentStill(server: NameServer, state: State): Promise<boolean> {
    state.isProbed = true;
    const answers = await probe(server);
    state.isProbed = false;
    if (answers) states.delete(keyOf(server));
    else state.untilMs = now().getTime() + silenceMs;
    return !answers;
  }

  return {
    async isSilent(server) {
      const state = states.get(keyOf(server));
      if (state?.untilMs === undefined) return false;
      return state.isProbed || now().getTime() < state.untilMs || isSilentStill(server, state);
    },
    answered: (server) => void states.delete(keyOf(server)),
    timedOut(server) {
      const state = states.get(keyOf(server)) ?? { timeouts: 0, isProbed: false, untilMs: undefined };
      states.set(keyOf(server), state);
      state.timeouts += 1;
      if (state.timeouts >= mostTimeouts && !state.isProbed && state.untilMs === undefined) {
        void isSilentStill(server, state);
      }
    },
  };
}

function keyOf({ address, port }: NameServer): string {
  return `${address} ${port}`;
}
