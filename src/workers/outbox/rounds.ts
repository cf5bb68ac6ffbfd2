/** Rounds of work, one at a time. */
export interface Rounds {
  /** Another one: now, or behind the one under way. */
  goOn(): void;
  isStopping(): boolean;
  /** No more of them. Resolves when the one under way is over. */
  stop(): Promise<void>;
}

/** A round that fails is told to `failed`; the next one is when somebody asks again. */
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
