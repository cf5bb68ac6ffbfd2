/**
 * True if a name in lower-case A-labels is a valid host name: RFC 1123 §2.1, with at most 63 octets in each label and 253 in all (RFC 1035).
 * Other checks are less strict: the host of a relay may have an underscore, and DNS names may have any octets (dns/name.ts).
 */
export function isHostName(name: string): boolean {
  return name.length <= 253 && hostName.test(name);
}

/** True if the host of a URL is a loopback name or address. The name is not looked up in DNS. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);
