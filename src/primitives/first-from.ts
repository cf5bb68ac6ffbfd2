/** The index of the first item that starts at this offset or later. The items are sorted by `start`. */
export function firstFrom(items: readonly { start: number }[], offset: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.start ?? offset) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
