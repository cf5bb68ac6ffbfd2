/**
 * The result of `work`, or that of `late` if the time is over first; `late` may also throw. The work itself continues, unless `late` ends
 * it.
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
