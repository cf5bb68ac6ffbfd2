import { DatabaseUnavailable } from "../database/db.ts";
import { type LetterDeps, writeLetters } from "../flows/send/write-letters.ts";

/** The writing of letters in this process. */
export interface Letters {
  /** Ends after the current letters. */
  stop(): Promise<void>;
}

const tickMs = 1000;

/** Writes letters about mail that begins to wait for approval. Looks once a second, so a kill loses none. */
export function startLetters(deps: LetterDeps): Letters {
  let isStopping = false;
  let running: Promise<void> | undefined;

  async function round(): Promise<void> {
    while (!isStopping && (await writeLetters(deps)));
  }

  const timer = setInterval(() => {
    running ??= round()
      .catch((err: unknown) => {
        // The pool of connections logs an outage itself, once.
        if (!(err instanceof DatabaseUnavailable)) deps.log.warn({ err }, "cannot write letters: trying again");
      })
      .finally(() => {
        running = undefined;
      });
  }, tickMs);
  return {
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await running;
    },
  };
}
