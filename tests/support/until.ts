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
