/**
 * The error of a rejected promise; throws if the promise is fulfilled. `expect(promise).rejects` waits in a loop that no message of a
 * worker reaches, and so for ever if the promise needs the embedded database, whose engine is one.
 */
export async function failureOf(promise: Promise<unknown> | undefined): Promise<unknown> {
  const settled = await Promise.resolve(promise).then(
    () => ({ failed: false as const }),
    (reason: unknown) => ({ failed: true as const, reason }),
  );
  if (!settled.failed) throw new Error("Expected a failure, but it succeeded");
  return settled.reason;
}
