/** Resolves once `isSo`, asked anew at each turn of the event loop. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

/** Asks again and again, for what nobody tells, and gives the first answer that there is. */
export async function untilAnswered<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    // An answer that is there at once would otherwise let nothing else have its turn.
    await new Promise((resolve) => setImmediate(resolve));
  }
}
