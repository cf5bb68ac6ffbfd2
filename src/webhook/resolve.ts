import { isIpAddress } from "../standards/ip.ts";
import { visibleText } from "../standards/text.ts";

/** Looks up all addresses of a host name. */
export type Lookup = (host: string) => Promise<string[]>;

/**
 * Looks up a name in the hosts file, then the DNS, with c-ares, which waits on sockets. The usual `dns.lookup` waits on
 * threads: on two cores with Bun 1.4.5, two names whose servers never answer blocked all others for ten seconds.
 */
export async function systemLookup(host: string): Promise<string[]> {
  const answers = await Bun.dns.lookup(host, { backend: "c-ares" });
  return answers.map(({ address }) => address);
}

/**
 * Looks up a host for each attempt. Attempts share a look-up that is in progress and began less than a second ago, so
 * that thousands of deliveries a second to one host do not flood its name server.
 */
export function resolver(lookup: Lookup): (host: string) => Promise<string[] | string> {
  const asking = new Map<string, { answer: Promise<string[] | string>; askedMs: number }>();

  return (host) => {
    if (isIpAddress(host)) return Promise.resolve([host]);
    const askedMs = performance.now();
    const young = asking.get(host);
    if (young && askedMs - young.askedMs < sharedMs) return young.answer;
    const question = { answer: ask(lookup, host), askedMs };
    asking.set(host, question);
    void question.answer.then(() => {
      if (asking.get(host) === question) asking.delete(host);
    });
    return question.answer;
  };
}

const sharedMs = 1000;

async function ask(lookup: Lookup, host: string): Promise<string[] | string> {
  try {
    const addresses = await lookup(host);
    return addresses.length > 0 ? byFamily(addresses) : `${host} has no address`;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return `cannot resolve ${host}${code === "" ? "" : `: ${visibleText(code.replace(/^DNS_/, "")).slice(0, 40)}`}`;
  }
}

/** Sorts IPv4 first: a machine without IPv6 would have to wait for a time-out. */
function byFamily(addresses: readonly string[]): string[] {
  const unique = [...new Set(addresses)];
  return [...unique.filter((address) => !address.includes(":")), ...unique.filter((address) => address.includes(":"))];
}
