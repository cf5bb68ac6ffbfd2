import { promises as dns } from "node:dns";
import { isIPv4 } from "node:net";
import { scriptedDns } from "./scripted-dns.ts";

/** A name server with scripted addresses, which may change between lookups. */
export interface StubDns {
  /** Queries this server over the network for A and AAAA. */
  lookup(host: string): Promise<string[]>;
  /** Sets the addresses of a host, one list for each lookup; the last repeats. An empty list is a name without addresses. */
  answers(host: string, ...lists: (readonly string[])[]): void;
  /** The number of lookups of a host. */
  questions(host: string): number;
  close(): Promise<void>;
}

export async function startStubDns(): Promise<StubDns> {
  const zone = new Map<string, (readonly string[])[]>();
  const asked = new Map<string, number>();

  const server = await scriptedDns(({ name, type }) => {
    const lists = zone.get(name);
    // A and AAAA belong to one lookup, so each type counts its own questions.
    const key = `${name} ${type}`;
    const count = asked.get(key) ?? 0;
    asked.set(key, count + 1);
    if (lists === undefined) return { code: 3 };
    const addresses = lists[Math.min(count, lists.length - 1)] ?? [];
    return {
      answers: addresses
        .filter((address) => isIPv4(address) === (type === "A"))
        .map((data) => ({ name, type: type === "A" ? "A" : "AAAA", ttl: 0, data })),
    };
  });

  return {
    async lookup(host) {
      const resolver = new dns.Resolver({ timeout: 2000, tries: 1 });
      resolver.setServers([`${server.address}:${server.port}`]);
      const [a, aaaa] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      if (a.status === "rejected" && aaaa.status === "rejected") throw a.reason;
      return [a, aaaa].flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    },
    answers: (host, ...lists) => void zone.set(host, lists),
    questions: (host) => Math.max(asked.get(`${host} A`) ?? 0, asked.get(`${host} AAAA`) ?? 0),
    close: server.close,
  };
}
