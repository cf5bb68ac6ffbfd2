import { DatabaseUnavailable } from "../database/db.ts";
import type { Deps } from "../flows/deps.ts";

/** Work that is looked for once a second. */
export interface EachSecond {
  /** Ends after what is being done, of which the round asks with `isStopping`. */
  stop(): Promise<void>;
}

const tickMs = 1000;

/** Looks for work once a second, one round at a time. A round that fails is logged with `failed`. */
export function eachSecond(
  { log }: Pick<Deps, "log">,
  failed: string,
  round: (isStopping: () => boolean) => Promise<void>,
): EachSecond {
  let isStopping = false;
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= round(() => isStopping)
      .catch((err: unknown) => {
        // The pool of connections logs an outage itself, once.
        if (!(err instanceof DatabaseUnavailable)) log.warn({ err }, failed);
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
