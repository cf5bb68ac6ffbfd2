/** An act that is requested often and done at most once in a period. */
export interface Paced {
  /** Acts at once after a quiet period; otherwise once at the end of the pause, however often it was requested. */
  ask(): void;
  stop(): void;
}

export function paced(everyMs: number, act: () => void): Paced {
  let pause: ReturnType<typeof setTimeout> | undefined;
  let isAskedAgain = false;

  function ask(): void {
    if (pause !== undefined) {
      isAskedAgain = true;
      return;
    }
    pause = setTimeout(endPause, everyMs);
    act();
  }

  function endPause(): void {
    pause = undefined;
    if (!isAskedAgain) return;
    isAskedAgain = false;
    ask();
  }

  return { ask, stop: () => clearTimeout(pause) };
}
