/**
 * The error of a rejected promise; throws if the promise is fulfilled. `expect(promise).rejects` waits by spinning the event
 * loop, which costs seconds with the embedded database.
 */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const settled = await promise.then(
    () => ({ failed: false as const }),
    (reason: unknown) => ({ failed: true as const, reason }),
  );
  if (!settled.failed) throw new Error("Expected a failure, but it succeeded");
  return settled.reason;
}
