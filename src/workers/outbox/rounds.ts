/** Rounds of work. Only one runs at a time. */
export interface Rounds {
  /** Starts a round now, or after the current one. */
  goOn(): void;
  isStopping(): boolean;
  /** Starts no more rounds. Resolves when the current one has ended. */
  stop(): Promise<void>;
}

/**
 * Makes rounds that call `round`. `failed` is called with the error of a failed round; after it, the next round starts with the next call
 * of `goOn`.
 */
export function roundsOf(round: () => Promise<void>, failed: (error: unknown) => void): Rounds {
  let isWanted = false;
  let isStopping = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    try {
      while (isWanted && !isStopping) {
        isWanted = false;
        await round();
      }
    } catch (error) {
      isWanted = false;
      failed(error);
    }
    running = undefined;
  }

  return {
    goOn() {
      isWanted = true;
      if (!isStopping) running ??= run();
    },
    isStopping: () => isStopping,
    async stop() {
      isStopping = true;
      await running;
    },
  };
}
