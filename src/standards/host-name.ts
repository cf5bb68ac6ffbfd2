/**
 * Whether a name, in lower-case A-labels, may name a host on the internet: RFC 1123 §2.1 with RFC 1035's 63 octets a label
 * and 253 in all. What others only lead us to is read more loosely where it is used: the host of a relay may have an
 * underscore, the DNS is asked for any octets (dns/name.ts), a recipient's domain may begin with a hyphen.
 */
export function isHostName(name: string): boolean {
  return name.length <= 253 && hostName.test(name);
}

/** Whether a host, as a URL writes it, is this machine by its own names: no record of anybody's DNS makes another name one. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const hostName = new RegExp(`^${label}(?:\\.${label})*$`);
