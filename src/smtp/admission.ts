import type { Origin } from "./door.ts";

/**
 * Counts the open connections: in total, for each network and for each site (IPv6 /48). Connections of a load balancer count only in total,
 * since many clients connect through it.
 */
export interface Admission {
  /**
   * Counts a connection (`entered`), or returns the limit that it would exceed: the total (`full`), or that of its network or site
   * (`address_full`).
   */
  enter(origin: Origin): "entered" | "full" | "address_full";
  leave(origin: Origin): void;
  readonly total: number;
}

export function admission(
  maxTotal: number,
  maxPerNetwork: number,
  uncountedHosts: ReadonlySet<string> = new Set(),
): Admission {
  const counts = new Map<string, number>();
  let total = 0;

  const countOf = (source: string) => counts.get(source) ?? 0;
  const isFull = (source: string | undefined, cap: number) => source !== undefined && countOf(source) >= cap;

  function sourcesOf({ host, network, site }: Origin): string[] {
    if (uncountedHosts.has(host)) return [];
    return site === undefined ? [network] : [network, site];
  }

  return {
    enter(origin) {
      if (total >= maxTotal) return "full";
      const sources = sourcesOf(origin);
      const [network, site] = sources;
      if (isFull(network, maxPerNetwork) || isFull(site, maxPerNetwork * networksPerSite)) return "address_full";
      for (const source of sources) counts.set(source, countOf(source) + 1);
      total += 1;
      return "entered";
    },
    leave(origin) {
      total -= 1;
      for (const source of sourcesOf(origin)) {
        const count = countOf(source);
        if (count <= 1) counts.delete(source);
        else counts.set(source, count - 1);
      }
    },
    get total() {
      return total;
    },
  };
}

/** A site (IPv6 /48) may have four times the connections of a network, because it may belong to many hosts or to a single one. */
const networksPerSite = 4;
