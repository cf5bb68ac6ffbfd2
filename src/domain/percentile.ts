/** The smallest of the values that at least this share of them does not exceed (nearest rank); undefined without values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const ordered = values.toSorted((one, other) => one - other);
  return ordered[Math.max(0, Math.ceil(share * ordered.length) - 1)];
}
