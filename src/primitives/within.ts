/**
 * What `work` comes to, or what `late` says or throws once the time is over. The work itself goes on: who can end it does
 * so in `late`.
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
