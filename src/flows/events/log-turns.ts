import { sizeGate } from "../size-gate.ts";

/** Who reads the log itself has a page of it in memory: so many do at a time, and the others wait their turn. */
export interface LogTurns {
  /** Resolves with what gives the turn back. */
  take(): Promise<() => void>;
}

export function logTurns(most: number): LogTurns {
  const gate = sizeGate(most);
  return {
    take: () =>
      new Promise((given) => {
        void gate(1, () => new Promise<void>((done) => given(done)));
      }),
  };
}
