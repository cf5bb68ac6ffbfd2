/** The functions that parse IP addresses. All other code uses them. */

/**
 * True if a literal IP address is on the public internet. False for unusual spellings (`127.1`, `0x7f000001`, `10.0.0.01`, `fe80::1%eth0`),
 * and for every IPv6 address that contains an IPv4 address, because a mapped, translated or tunnelled address reaches a host that was not
 * checked.
 */
export function isPublicAddress(address: string): boolean {
  const v4 = parseIpv4(address);
  if (v4 !== undefined) return !reservedV4.some(([base, bits]) => v4 >>> (32 - bits) === base >>> (32 - bits));
  const v6 = parseIpv6(address);
  if (v6 === undefined) return false;
  return inPrefix(v6, globalUnicast) && !reservedV6.some((prefix) => inPrefix(v6, prefix));
}

/** True for a literal IP address in its usual spelling. */
export function isIpAddress(text: string): boolean {
  return parseIpv4(text) !== undefined || parseIpv6(text) !== undefined;
}

/** Whether a text is a block of addresses (CIDR, RFC 4632 and RFC 4291 §2.3), or one address. */
export function isAddressBlock(text: string): boolean {
  return parseBlock(text) !== undefined;
}

/** Whether an address is in one of these blocks. */
export function isInBlocks(address: string, blocks: readonly string[]): boolean {
  const parsed = parseBlock(originOf(address).host);
  if (parsed === undefined) return false;
  return blocks.some((text) => {
    const block = parseBlock(text);
    if (block === undefined || block.width !== parsed.width) return false;
    const shift = BigInt(block.width - block.bits);
    return block.base >> shift === parsed.base >> shift;
  });
}

/** The address and the length of a block. An address alone is a block of one. */
function parseBlock(text: string): { base: bigint; width: number; bits: number } | undefined {
  const [, address = "", digits] = /^([^/]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const v4 = parseIpv4(address);
  const base = v4 === undefined ? parseIpv6(address) : BigInt(v4);
  const width = v4 === undefined ? 128 : 32;
  const bits = digits === undefined ? width : Number(digits);
  return base === undefined || bits > width ? undefined : { base, width, bits };
}

/** The address of a client, with the networks by which clients are counted and limited. */
export interface Origin {
  /** The address of the client in its canonical spelling. */
  host: string;
  /** The network that one host may have for itself: an IPv4 address, or the /64 of an IPv6 address (RFC 4291 §2.5.1). */
  network: string;
  /** The /48 of a site (RFC 6177), which has 65,536 networks; undefined for IPv4. */
  site: string | undefined;
}

/** The origin of an address. It may be an IPv4 address mapped to IPv6, or have a zone, because a listener on `::` sees such addresses. */
export function originOf(address: string): Origin {
  const groups = ipv6Groups(address.replace(/%.*$/, ""));
  if (groups === undefined) return { host: address, network: address, site: undefined };
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const host = groups.slice(6).flatMap((group) => [group >>> 8, group & 0xff]);
    return { host: host.join("."), network: host.join("."), site: undefined };
  }
  const spelled = (count: number) =>
    groups
      .slice(0, count)
      .map((group) => group.toString(16))
      .join(":");
  return { host: spelled(8), network: `${spelled(4)}::/64`, site: `${spelled(3)}::/48` };
}

/** IPv4 addresses that are not public: those of the special-purpose registry (RFC 6890 and IANA), and further ones that clouds use. */
const reservedV4 = [
  "0.0.0.0/8", // this network (RFC 791)
  "10.0.0.0/8", // private (RFC 1918)
  "100.64.0.0/10", // carrier-grade NAT (RFC 6598), with the metadata of Alibaba Cloud, 100.100.100.200
  "127.0.0.0/8", // loopback (RFC 1122)
  "168.63.129.16/32", // the host of an Azure machine: a public number for an internal address
  "169.254.0.0/16", // link-local (RFC 3927), with the metadata of most clouds, 169.254.169.254
  "172.16.0.0/12", // private (RFC 1918)
  "192.0.0.0/24", // protocol assignments (RFC 6890), with the metadata of Oracle Cloud, 192.0.0.192
  "192.0.2.0/24", // documentation (RFC 5737)
  "192.31.196.0/24", // AS112 (RFC 7535)
  "192.52.193.0/24", // AMT (RFC 7450)
  "192.88.99.0/24", // 6to4 relays (RFC 7526)
  "192.168.0.0/16", // private (RFC 1918)
  "192.175.48.0/24", // AS112 (RFC 7534)
  "198.18.0.0/15", // benchmarking (RFC 2544)
  "198.51.100.0/24", // documentation (RFC 5737)
  "203.0.113.0/24", // documentation (RFC 5737)
  "224.0.0.0/4", // multicast (RFC 5771)
  "240.0.0.0/4", // reserved (RFC 1112), with the broadcast address
].map((prefix): [number, number] => {
  const [base = "", bits] = prefix.split("/");
  return [parseIpv4(base) ?? 0, Number(bits)];
});

/**
 * All global unicast addresses are in 2000::/3 (RFC 4291 §2.4). That excludes `::`, `::1`, v4-mapped and v4-compatible, NAT64
 * (64:ff9b::/96, 64:ff9b:1::/48), discard (100::/64), segment routing (5f00::/16), unique local (fc00::/7, with fd00:ec2::254), link-local,
 * site-local and multicast addresses.
 */
const globalUnicast = prefixV6("2000::/3");

const reservedV6 = [
  "2001::/23", // protocol assignments (RFC 2928): Teredo, benchmarking, ORCHID and others
  "2001:db8::/32", // documentation (RFC 3849)
  "2002::/16", // 6to4 (RFC 3056)
  "2620:4f:8000::/48", // AS112 (RFC 7534)
  "3ffe::/16", // the former 6bone (RFC 3701)
  "3fff::/20", // documentation (RFC 9637)
].map(prefixV6);

interface PrefixV6 {
  base: bigint;
  bits: number;
}

function prefixV6(text: string): PrefixV6 {
  const [base = "", bits] = text.split("/");
  return { base: parseIpv6(base) ?? 0n, bits: Number(bits) };
}

function inPrefix(address: bigint, { base, bits }: PrefixV6): boolean {
  const shift = BigInt(128 - bits);
  return address >> shift === base >> shift;
}

/** Parses an IPv4 address of four decimal numbers. Leading zeros are refused, because some resolvers read such numbers as octal. */
function parseIpv4(text: string): number | undefined {
  const octets = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1);
  if (!octets) return undefined;
  let value = 0;
  for (const octet of octets) {
    if ((octet.length > 1 && octet.startsWith("0")) || Number(octet) > 255) return undefined;
    value = value * 256 + Number(octet);
  }
  return value;
}

function parseIpv6(text: string): bigint | undefined {
  return ipv6Groups(text)?.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

/** The eight groups of an IPv6 address (RFC 4291 §2.2), or undefined if the text is none. The last two groups may be an IPv4 address. */
export function ipv6Groups(text: string): number[] | undefined {
  if (text.length > 45 || !/^[0-9a-fA-F:.]+$/.test(text)) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const groups = halves.map((half, index) => groupsOf(half, index === halves.length - 1));
  const [head, tail] = groups;
  if (!head || (halves.length === 2 && !tail)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (tail ? missing < 1 : missing !== 0) return undefined;
  return tail ? [...head, ...Array<number>(missing).fill(0), ...tail] : head;
}

function groupsOf(half: string, isLast: boolean): number[] | undefined {
  if (half === "") return [];
  const groups: number[] = [];
  const words = half.split(":");
  for (const [index, word] of words.entries()) {
    const v4 = isLast && index === words.length - 1 ? parseIpv4(word) : undefined;
    if (v4 !== undefined) groups.push(v4 >>> 16, v4 & 0xffff);
    else if (/^[0-9a-fA-F]{1,4}$/.test(word)) groups.push(Number.parseInt(word, 16));
    else return undefined;
  }
  return groups;
}
