export interface Alarm {
  setIn(ms: number): void;
  clear(): void;
}

/** Rings once, at the earliest of the times that it was set to since it last rang or was cleared. */
export function alarm(ring: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ringsMs = 0;

  function clear(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    setIn(ms) {
      const atMs = performance.now() + ms;
      if (timer !== undefined && ringsMs <= atMs) return;
      clear();
      ringsMs = atMs;
      timer = setTimeout(() => {
        timer = undefined;
        ring();
      }, ms);
    },
    clear,
  };
}
