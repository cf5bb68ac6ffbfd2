export interface Alarm {
  setIn(ms: number): void;
  clear(): void;
}

/** A timer that fires once, at the earliest time that was set since it last fired or was cleared. */
export function alarm(fire: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let firesMs = 0;

  function clear(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    setIn(ms) {
      const atMs = performance.now() + ms;
      if (timer !== undefined && firesMs <= atMs) return;
      clear();
      firesMs = atMs;
      timer = setTimeout(() => {
        timer = undefined;
        fire();
      }, ms);
    },
    clear,
  };
}
