/** A function that is requested often and called at most once in a period. */
export interface Paced {
  /** Calls the function at once if the last call is at least a period ago. Otherwise calls it once when the period is over. */
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
