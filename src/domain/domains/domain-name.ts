/** A domain and those above it with at least two labels: `a.b.example`, `b.example`. */
export function withParents(domain: string): string[] {
  const labels = domain.split(".");
  return labels.slice(0, Math.max(1, labels.length - 1)).map((_, index) => labels.slice(index).join("."));
}
