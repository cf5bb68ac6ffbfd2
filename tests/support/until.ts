/** Resolves once `isSo`, checked at each turn of the event loop. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

/** Polls `ask` until it returns an answer. */
export async function untilAnswered<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    // Without this pause an immediate answer would block the event loop.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Polls `isSo` 50 times a second, at most for `longestMs`, and spares the processes that answer it. */
export async function untilSo(isSo: () => boolean | Promise<boolean>, longestMs = 60_000): Promise<void> {
  const endMs = performance.now() + longestMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`Not so after ${longestMs} ms`);
    await Bun.sleep(20);
  }
}
