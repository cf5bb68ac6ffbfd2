export interface Stopping {
  signal: AbortSignal;
  stop(): void;
  /** Signals are the system's affair again. */
  end(): void;
}

/** The first signal lets what is in hand end; a second one ends the process at once. */
export function untilSignal(): Stopping {
  const controller = new AbortController();
  const stop = () => {
    end();
    controller.abort();
  };
  const end = () => void process.off("SIGINT", stop).off("SIGTERM", stop);
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return { signal: controller.signal, stop, end };
}
