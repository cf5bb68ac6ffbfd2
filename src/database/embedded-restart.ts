import { abandon, type Engine, EngineNotStarted } from "./embedded-engine.ts";
import { DatabaseUnavailable } from "./unavailable.ts";

/** An engine that is started when somebody needs it, and after it has failed anew. */
export interface RestartingEngine {
  /** For whoever needs it next. Refused for a pause after it has failed. */
  forNext(): Promise<Engine>;
  /** The one in use, or the one that is being started; none from its failure until it is needed again. */
  current(): Promise<Engine> | undefined;
  /** It has failed, and nobody may use it again. */
  giveUp(failed: Promise<Engine>): void;
}

export function restartingEngine(start: () => Promise<Engine>, pauseMs: number): RestartingEngine {
  let engine: Promise<Engine> | undefined;
  let failedAt = Number.NEGATIVE_INFINITY;
  /** Why it could not be started, where that is what failed. */
  let failure: EngineNotStarted | undefined;

  return {
    forNext() {
      // A full disk fails the engine again and again: without a pause, each attempt would cost a second of everybody's time.
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
      // To be refused in the pause is no failure: were it one, whoever asks meanwhile would begin the pause anew, for ever.
      if (failed !== engine) return;
      engine = undefined;
      failedAt = performance.now();
      failure = undefined;
      // The descriptors that it believes to be its files are about to be others'.
      failed.then(abandon, (error: unknown) => {
        if (error instanceof EngineNotStarted) failure = error;
      });
    },
  };
}

/** Whoever uses the engine hears that it failed; when nobody does, that is nobody's error. */
function heardByUsers(engine: Promise<Engine>): Promise<Engine> {
  engine.catch(() => undefined);
  return engine;
}
