/**
 * Returns the result of `work`. If `ms` are over first, calls `late` and returns its result, or rejects if it throws. The work itself goes
 * on, unless `late` ends it.
 */
export function within<Value, Late>(ms: number, work: PromiseLike<Value>, late: () => Late): Promise<Value | Late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(late());
      } catch (error) {
        reject(error);
      }
    }, ms);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
