/** Resolves once `isSo`, checked each millisecond. Without pauses, a test that waits would use all of a core. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(1);
}

/** Polls `ask` until it returns an answer. Pauses of 5 ms leave the processor to the process that answers. */
export async function untilAnswered<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await Bun.sleep(5);
  }
}

/** Polls `isSo` 50 times a second by default, at most for `longestMs`, and spares the processes that answer it. */
export async function untilSo(isSo: () => boolean | Promise<boolean>, longestMs = 60_000, pauseMs = 20): Promise<void> {
  const endMs = performance.now() + longestMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`Not so after ${longestMs} ms`);
    await Bun.sleep(pauseMs);
  }
}
