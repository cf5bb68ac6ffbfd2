/** What has been opened, by the ways to close it. */
export interface Closers {
  push: (close: () => unknown) => void;
  /** The last opened is the first closed; one that fails doesn't keep the others open. */
  closeAll: () => Promise<void>;
}

export function closers(): Closers {
  const opened: (() => unknown)[] = [];
  return {
    push: (close) => void opened.push(close),
    async closeAll() {
      for (const close of opened.splice(0).toReversed()) {
        try {
          await close();
        } catch {
          // Whoever stops the service waits for the others.
        }
      }
    },
  };
}
