/**
 * The known name that was probably meant by an unknown name. It differs only in case, dashes and underscores, or else by the fewest typing
 * errors, at most one error in three letters. `undefined` if no name is that near.
 */
export function nearestName(unknown: string, names: readonly string[]): string | undefined {
  if (unknown.length > longestName) return undefined;
  const written = plainName(unknown);
  let nearest: string | undefined;
  let fewest = Number.POSITIVE_INFINITY;
  for (const name of names) {
    const meant = plainName(name);
    const errors = errorsBetween(written, meant);
    const length = Math.max(written.length, meant.length);
    const allowed = Math.max(1, Math.floor(length / 3));
    if (errors > allowed || errors >= length || errors >= fewest) continue;
    nearest = name;
    fewest = errors;
  }
  return nearest;
}

/** The most characters of an unknown name. A longer one is no typing error, and the time to compare grows with the square of the length. */
const longestName = 64;

/** A name without the differences of spelling: case, dashes and underscores. */
export function plainName(name: string): string {
  return name.toLowerCase().replaceAll("-", "").replaceAll("_", "");
}

/** The number of letters that are wrong, missing, added or swapped with their neighbour (optimal string alignment). */
function errorsBetween(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      let errors = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        errors = Math.min(errors, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(errors);
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
