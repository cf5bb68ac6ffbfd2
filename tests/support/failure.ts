/**
 * What a promise was rejected with; throws when it was not. `expect(promise).rejects` waits by spinning the
 * event loop, which with the embedded database costs seconds.
 */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  const settled = await promise.then(
    () => ({ failed: false as const }),
    (reason: unknown) => ({ failed: true as const, reason }),
  );
  if (!settled.failed) throw new Error("Expected a failure, but it succeeded");
  return settled.reason;
}
