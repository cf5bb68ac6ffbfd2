/**
 * Returns a function that runs work once its size fits: the sizes of all running work add up to at most `capacity`. Work starts in the
 * order of the calls. Work that is larger than the capacity runs while no other work does.
 */
export function sizeGate(capacity: number): <T>(size: number, work: () => Promise<T>) => Promise<T> {
  const waiting: { size: number; start: () => void }[] = [];
  let used = 0;

  function startNext(): void {
    for (let next = waiting[0]; next !== undefined && (used === 0 || used + next.size <= capacity); next = waiting[0]) {
      waiting.shift();
      used += next.size;
      next.start();
    }
  }

  return async (size, work) => {
    await new Promise<void>((start) => {
      waiting.push({ size, start });
      startNext();
    });
    try {
      return await work();
    } finally {
      used -= size;
      startNext();
    }
  };
}
