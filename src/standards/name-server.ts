import { isIpAddress } from "./ip.ts";

/** The address and port of a DNS server. */
export interface NameServer {
  /** A literal IP address. A link-local one has its interface, as in `fe80::1%eth0`. */
  address: string;
  port: number;
}

/** Parses `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; `undefined` for anything else. */
export function parseNameServer(text: string): NameServer | undefined {
  const [, v4, v6, digits] = /^(?:([\d.]+)|\[([^\]]+)\])(?::(\d{1,5}))?$/.exec(text) ?? [];
  const address = (v4 ?? v6 ?? text).toLowerCase();
  const port = Number(digits ?? 53);
  const isWellFormed = isServerAddress(address) && (v6 === undefined || address.includes(":"));
  return isWellFormed && port > 0 && port <= 65_535 ? { address, port } : undefined;
}

export function describeNameServer({ address, port }: NameServer): string {
  if (port === 53) return address;
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

function isServerAddress(address: string): boolean {
  const [bare = "", zone] = address.split("%", 2);
  return isIpAddress(bare) && (zone === undefined || (bare.startsWith("fe80:") && /^[\w.-]{1,15}$/.test(zone)));
}
