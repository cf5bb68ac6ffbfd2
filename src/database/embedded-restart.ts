import { abandon, type Engine, EngineNotStarted } from "./embedded-engine.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** An engine that is started when it is needed, and again after it has failed. */
export interface RestartingEngine {
  /** Returns the engine, and starts it if necessary. After a failure it rejects until a pause is over. */
  forNext(): Promise<Engine>;
  /** The engine in use, or the one that is starting; undefined between a failure and the next start. */
  current(): Promise<Engine> | undefined;
  /** Reports that the engine has failed: it is not used again. */
  giveUp(failed: Promise<Engine>): void;
}

export function restartingEngine(start: () => Promise<Engine>, pauseMs: number): RestartingEngine {
  let engine: Promise<Engine> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  /** The error of the last start, if the start failed. */
  let failure: EngineNotStarted | undefined;

  return {
    forNext() {
      // A full disk fails each start. Without a pause, each attempt would block the process for a second.
      if (engine === undefined && performance.now() < failedAt + pauseMs) {
        return heardByUsers(
          Promise.reject(new DatabaseUnavailable("the embedded engine has just failed", failure?.sqlState)),
        );
      }
      engine ??= heardByUsers(start());
      return engine;
    },
    current: () => engine,
    giveUp(failed) {
      // A rejection during the pause is not a failure of the engine: otherwise each caller would restart the pause, for ever.
      if (failed !== engine) return;
      engine = undefined;
      failedAt = performance.now();
      failure = undefined;
      // The engine is not used again after this: the numbers of its closed files will soon belong to other files.
      failed.then(abandon, (error: unknown) => {
        if (error instanceof EngineNotStarted) failure = error;
      });
    },
  };
}

/** Marks a rejection as handled: the callers of the engine get it. */
function heardByUsers(engine: Promise<Engine>): Promise<Engine> {
  engine.catch(() => undefined);
  return engine;
}
