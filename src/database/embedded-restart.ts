import type { Engine } from "./embedded-client.ts";
import { EngineNotStarted } from "./embedded-failure.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** An engine that is started when it is needed, and again after it has failed. */
export interface RestartingEngine {
  /** Returns the engine, and starts it if necessary. After a failure it rejects until a pause is over. */
  forNext(): Promise<Engine>;
  /** The engine in use, or the one that is starting; undefined between a failure and the next start. */
  current(): Promise<Engine> | undefined;
  /** Reports that this engine has failed. It is closed, and not used again. `sqlState` is the one of its last error, if that says why. */
  giveUp(failed: Promise<Engine>, sqlState?: string): void;
}

export function restartingEngine(start: () => Promise<Engine>, pauseMs: number): RestartingEngine {
  let engine: Promise<Engine> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  /** Why the last engine failed, if it is known. */
  let failureState: string | undefined;

  return {
    forNext() {
      // While the disk is full, each start fails. Without a pause, they would occupy a processor.
      if (engine === undefined && performance.now() < failedAt + pauseMs) {
        return heardByUsers(
          Promise.reject(new DatabaseUnavailable("the embedded engine has just failed", failureState)),
        );
      }
      engine ??= heardByUsers(start());
      return engine;
    },
    current: () => engine,
    giveUp(failed, sqlState) {
      // `failed` may be a rejection from the pause, which is not a failure of the engine: it must not begin the pause again.
      if (failed !== engine) return;
      engine = undefined;
      failedAt = performance.now();
      failureState = sqlState;
      // The engine must not be used after this, because its file descriptors are closed and soon belong to other files.
      failed.then(
        ({ abandon }) => abandon(),
        (error: unknown) => {
          if (error instanceof EngineNotStarted) failureState = error.sqlState;
        },
      );
    },
  };
}

/** Marks a rejection as handled, because the callers of the engine handle it. */
function heardByUsers(engine: Promise<Engine>): Promise<Engine> {
  engine.catch(() => undefined);
  return engine;
}
