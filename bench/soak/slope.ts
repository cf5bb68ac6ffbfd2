/** The least-squares slope of `values` over `seconds`, in units per hour. */
export function slopePerHour(seconds: readonly number[], values: readonly number[]): number {
  const count = seconds.length;
  const meanX = seconds.reduce((sum, x) => sum + x, 0) / count;
  const meanY = values.reduce((sum, y) => sum + y, 0) / count;
  let covariance = 0;
  let variance = 0;
  for (const [index, x] of seconds.entries()) {
    covariance += (x - meanX) * ((values[index] ?? meanY) - meanY);
    variance += (x - meanX) ** 2;
  }
  return variance === 0 ? 0 : (covariance / variance) * 3600;
}
