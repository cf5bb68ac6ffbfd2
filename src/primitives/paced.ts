/** What is asked for often and done seldom. */
export interface Paced {
  /** At once after a quiet time; else at the end of the pause, once for all that asked meanwhile. */
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
