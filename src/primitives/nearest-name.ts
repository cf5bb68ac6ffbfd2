/**
 * The name that was meant by one that nobody knows: the one that reads alike but for case, dashes and underscores, else the
 * one that is the fewest slips of the keyboard away, at most one for three letters. `undefined` where none is near.
 */
export function nearestName(unknown: string, names: readonly string[]): string | undefined {
  if (unknown.length > longestName) return undefined;
  const written = spoken(unknown);
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const meant = spoken(name);
    const slips = slipsBetween(written, meant);
    const length = Math.max(written.length, meant.length);
    const allowed = Math.max(1, Math.floor(length / 3));
    if (slips > allowed || slips >= length || slips >= fewest) continue;
    nearest = name;
    fewest = slips;
  }
  return nearest;
}

/** What is longer is no slip of the keyboard, and would cost its square. */
const longestName = 64;

function spoken(name: string): string {
  return name.toLowerCase().replaceAll("-", "").replaceAll("_", "");
}

/** Letters that are wrong, missing or too many, and neighbours that changed places (optimal string alignment). */
function slipsBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      let slips = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        slips = Math.min(slips, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(slips);
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
