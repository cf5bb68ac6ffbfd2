import { abandon, type Engine, EngineNotStarted } from "./embedded-engine.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** An engine that is started when it is needed, and again after it has failed. */
export interface RestartingEngine {
  /** Returns the engine, and starts it if necessary. After a failure it rejects until a pause is over. */
  forNext(): Promise<Engine>;
  /** The engine in use, or the one that is starting; undefined between a failure and the next start. */
  current(): Promise<Engine> | undefined;
  /** Reports that this engine has failed. It is closed, and not used again. */
  giveUp(failed: Promise<Engine>): void;
}

export function restartingEngine(start: () => Promise<Engine>, pauseMs: number): RestartingEngine {
  let engine: Promise<Engine> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  /** The error of the last start, if the start failed. */
  let failure: EngineNotStarted | undefined;

  return {
    forNext() {
      // While the disk is full, each start fails. Without a pause, each of them would block the process for a second.
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
      // `failed` may be a rejection from the pause, which is not a failure of the engine: it must not begin the pause again.
      if (failed !== engine) return;
      engine = undefined;
      failedAt = performance.now();
      failure = undefined;
      // The engine must not be used after this, because its file descriptors are closed and soon belong to other files.
      failed.then(abandon, (error: unknown) => {
        if (error instanceof EngineNotStarted) failure = error;
      });
    },
  };
}

/** Marks a rejection as handled, because the callers of the engine handle it. */
function heardByUsers(engine: Promise<Engine>): Promise<Engine> {
  engine.catch(() => undefined);
  return engine;
}
