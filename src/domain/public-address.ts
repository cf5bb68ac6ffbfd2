import { BlockList, isIP } from "node:net";

/**
 * True for an address of the public internet: one that foreign data (an MX record) may make us connect to. After the
 * special-purpose registries of RFC 6890. In IPv6 only 2000::/3 is public, which leaves out loopback, link-local,
 * unique-local, multicast and every v4-mapped or translated form.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, "ipv4");
  return family === 6 && !address.includes("%") && global.check(address, "ipv6") && !special.check(address, "ipv6");
}

const global = new BlockList();
global.addSubnet("2000::", 3, "ipv6");

const special = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  special.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  special.addSubnet(network, prefix, "ipv6");
}
